package redisconn

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/redis/rueidis"
)

// A home is the server that the connections of a client lead to.
type home struct {
	place
	remote string // the other end of the connections: what makes servers differ, whatever their names
	turn   int64  // of the connection that found it, in the order in which they were begun
}

// A doubt is whether home is still the primary.
type doubt struct {
	asking bool      // the Sentinels are being asked
	asked  time.Time // when that began last
	cut    time.Time // when all connections were cut last
}

const (
	doubtPause = time.Second            // how often the Sentinels are asked at most
	cutPause   = 100 * time.Millisecond // how often all connections are cut at most
)

// errMoved: somebody else's connection, begun later, has found the primary elsewhere.
var errMoved = &hint{"the primary has moved while a connection to it was made", []error{ErrTemporary}}

// settle makes c one of the open connections. Those that lead elsewhere are returned, to be cut: what was begun later knows better.
func (w *wires) settle(c *wire, at home) (others []*wire, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed() {
		return nil, rueidis.ErrClosing
	}
	if at.remote != w.home.remote && len(w.open) > 0 {
		if at.turn < w.home.turn {
			return nil, errMoved
		}
		others = w.all()
		w.era.Add(1)
	}
	at.turn = max(at.turn, w.home.turn)
	w.home = at
	w.open[c] = struct{}{}
	return others, nil
}

// all are the open connections. w.mu is held.
func (w *wires) all() (all []*wire) {
	for c := range w.open {
		all = append(all, c)
	}
	return all
}

// current returns home, and whether a connection leads there.
func (w *wires) current() (home, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.home, len(w.open) > 0
}

// near is where to dial a server by name: where the other connections lead, for as long as the name has that address among others. A
// host with two addresses would otherwise look like one that moves to and fro.
func (w *wires) near(ctx context.Context, address string) string {
	at, inUse := w.current()
	host, port, err := net.SplitHostPort(address)
	if !inUse || err != nil || w.target.DialCtxFn != nil || net.ParseIP(host) != nil {
		return address
	}
	resolver := w.target.Dialer.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	known, knownPort, _ := net.SplitHostPort(at.remote)
	if found, err := resolver.LookupHost(ctx, host); err == nil && slices.Contains(found, known) && knownPort == port {
		return at.remote
	}
	return address
}

// reachPrimary asks the Sentinels, connects, and makes sure that what is there calls itself a primary.
func (w *wires) reachPrimary(ctx context.Context, stage func(string)) (net.Conn, place, error) {
	stage(stageAsk)
	known, _ := w.current()
	at, err := w.target.sentinels.find(ctx, w.target, known.place)
	if err != nil {
		return nil, at, err
	}
	raw, err := w.target.open(ctx, w.target.reachable(at.told), stage)
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
		return nil, at, &hint{"the Sentinels name " + at.told + " as the primary, and it cannot be reached; a failover may be under way, so ask again", []error{ErrTemporary, err}}
	}
	if err != nil {
		return nil, at, err
	}
	self, err := w.target.greet(ctx, raw)
	if err == nil && self["role"] != "master" {
		err = errNotYet
	}
	if err != nil {
		hangUp(raw)
		return nil, at, err
	}
	return raw, at, nil
}

var errNotYet = &hint{"the server that the Sentinels name is no primary, or not yet: a failover is under way; it can be asked again soon",
	[]error{ErrTemporary}}

// leave cuts every connection, the inbox's too, so that the next request looks for the primary anew. era is that of the connection
// which was found to be wrong: if it was left already nothing happens.
func (w *wires) leave(era int64) {
	w.mu.Lock()
	if w.era.Load() != era || time.Since(w.doubt.cut) < cutPause {
		w.mu.Unlock()
		return
	}
	w.doubt.cut = time.Now()
	w.era.Add(1)
	all := w.all()
	w.mu.Unlock()
	for _, c := range all {
		c.cut()
	}
}

// suspect asks the Sentinels, in the background, whether home is still the primary, and leaves it if not.
func (w *wires) suspect() {
	if w.target.sentinels == nil || w.closed() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.doubt.asking || time.Since(w.doubt.asked) < doubtPause {
		return
	}
	w.doubt.asking, w.doubt.asked = true, time.Now()
	go w.verify(w.home.place, w.era.Load())
}

func (w *wires) verify(at place, era int64) {
	now, err := w.target.sentinels.find(w.life, w.target, at)
	if err == nil && now.told != at.told {
		w.leave(era)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doubt.asking = false
}

// Demoted says that c's server has answered READONLY inside of an answer: it is a replica now. Every connection of c is cut, its inbox's
// too, so that the next request looks for the primary anew; what is under way has no answer. A READONLY that is the whole answer of a
// request does that by itself. Of a client that a program brought along nothing is known, and nothing happens.
func Demoted(c rueidis.Client) {
	if own, ok := c.(*client); ok && own.wires != nil {
		own.wires.leave(own.wires.era.Load())
	}
}

// Doubt says that c's server may not be the primary any more: it cannot prove that it is, its replicas are gone, or it does not answer. The
// Sentinels are asked in the background, once per second at most, and if the primary is elsewhere every connection is cut as by
// [Demoted]. Without Sentinels nothing happens.
func Doubt(c rueidis.Client) {
	if own, ok := c.(*client); ok && own.wires != nil {
		own.wires.suspect()
	}
}
