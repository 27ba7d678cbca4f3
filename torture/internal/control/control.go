package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/resource"
	"holdfast.dev/torture/internal/worker"
)

// A Control is a broken lock and its twin, and all that a round needs to tell them apart.
type Control struct {
	Name  string // N1
	Title string
	Wrong string // what the broken one does
	Right string // what the twin does instead

	// Caught names the checkers that may accuse the broken one: windows, tokens, registers, liveness, linear and so on. One of them must,
	// with every seed; others may see what follows from the same mistake. The twin must pass all.
	Caught []string

	TTL      time.Duration // of the lock
	Duration time.Duration // of the round, until workers begin nothing new
	Mix      worker.Mix    // of its work, on one lock
	Steps    []Step        // the faults, in the order of their times

	// Patience is how long draining may take, where the broken one never ends and nobody should wait for it for long. 0: as long as any
	// store may take.
	Patience time.Duration

	// Nodes is how many independent servers it is on; 0: one.
	Nodes int

	// Own: the lock is not one of this package's, but Holdfast's, opened by its URL; the broken one has no guard. It is redislock's, on a primary
	// with replicas (Replicas), or redlock's on Nodes servers.
	Own, Replicas bool

	Heals time.Duration // beyond a TTL + 1 s, how long it may grant nothing after a server has forgotten: its guard
	Gate  resource.Gate // of the broken one; the twin's is always GateAll

	change func(s *store, o Options)
}

// Options is one store that is to be opened.
type Options struct {
	Addr    string   // of the server, or of the proxy before it: "127.0.0.1:port"
	More    []string // of the others, with Control.Nodes
	Broken  bool     // else it is the twin
	Process int      // the number of the worker process, from 0: where machines differ, it tells which one this is

	// Reached, if not nil, is called when an attempt has come to a Point, on its own goroutine; the attempt goes on when it returns. It is
	// how KillAcquired finds its moment.
	Reached func(Point)
}

// A Point is a place in the code of a lock.
type Point string

// Acquired: the server has said for the first time in this request that the lock is ours. Nobody else knows yet.
const Acquired Point = "acquired"

// Open opens the broken lock, or the twin.
func (c Control) Open(ctx context.Context, o Options) (driver.Store, error) {
	if c.Own {
		return nil, fmt.Errorf("control %s is a lock of Holdfast's: open it by its URL", c.Name)
	}
	if want := max(c.Nodes, 1); 1+len(o.More) != want {
		return nil, fmt.Errorf("control %s is a lock on %d servers, not on %d", c.Name, want, 1+len(o.More))
	}
	var wires []*wire
	for _, addr := range append([]string{o.Addr}, o.More...) {
		wire, err := dial(ctx, addr)
		if err != nil {
			for _, w := range wires {
				w.close()
			}
			return nil, fmt.Errorf("control %s: no Redis server answers at %s: %w", c.Name, addr, err)
		}
		wires = append(wires, wire)
	}
	s := newStore(c.Name, wires[0], wires[1:]...)
	if o.Reached != nil {
		s.reached = o.Reached
	}
	if c.change != nil {
		c.change(s, o)
	}
	s.start()
	return s, nil
}

// GateFor is the gate before the fenced register.
func (c Control) GateFor(broken bool) resource.Gate {
	if broken {
		return c.Gate
	}
	return resource.GateAll
}

// scheme begins the text that names a store of a control.
const scheme = "control"

// Store names a store for a worker process, which passes it to OpenStore: control://127.0.0.1:7001/N1?broken=true&process=2.
func (c Control) Store(o Options) string {
	query := url.Values{"broken": {strconv.FormatBool(o.Broken)}, "process": {strconv.Itoa(o.Process)}, "more": o.More}
	return (&url.URL{Scheme: scheme, Host: o.Addr, Path: "/" + c.Name, RawQuery: query.Encode()}).String()
}

// OpenStore opens what Control.Store has named. reached may be nil: see Options.
func OpenStore(ctx context.Context, text string, reached func(Point)) (driver.Store, error) {
	c, o, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no store of a control: %w", text, err)
	}
	o.Reached = reached
	return c.Open(ctx, o)
}

// IsStore reports whether Control.Store has made the text.
func IsStore(text string) bool {
	_, _, err := parse(text)
	return err == nil
}

func parse(text string) (Control, Options, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Control{}, Options{}, err
	}
	if u.Scheme != scheme {
		return Control{}, Options{}, fmt.Errorf("it does not begin with %s://", scheme)
	}
	c, known := Find(u.Path[min(1, len(u.Path)):])
	if !known {
		return Control{}, Options{}, errors.New("there is no such control: All lists them")
	}
	o := Options{Addr: u.Host, More: u.Query()["more"]}
	_, _, noAddr := net.SplitHostPort(u.Host)
	broken, badBroken := strconv.ParseBool(u.Query().Get("broken"))
	process, badProcess := strconv.Atoi(u.Query().Get("process"))
	o.Broken, o.Process = broken, process
	return c, o, errors.Join(noAddr, badBroken, badProcess)
}

// All returns the controls, in the order of their numbers.
func All() []Control {
	return []Control{n1(), n2(), n3(), n4(), n5(), n6(), n7(), n8(), n9(), n10(), n11(), n14(), n15(), n16()}
}

// Find returns the control of that name.
func Find(name string) (Control, bool) {
	for _, c := range All() {
		if c.Name == name {
			return c, true
		}
	}
	return Control{}, false
}
