package netfault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// A Proxy passes connections on to its target, with the faults that it was told. See the package's comment for the rules.
type Proxy struct {
	listener net.Listener
	life     context.Context // ends with Close
	end      context.CancelFunc
	work     sync.WaitGroup

	// mu is taken before a link's or a stream's own mutex, never after.
	mu      sync.Mutex
	target  target
	closed  bool
	refuse  bool
	faults  [2]faults // what the streams of a new connection begin with
	resetIn [2]int    // how many bytes more until a connection is reset; negative: not armed
	links   map[*link]bool
	count   uint64        // connections accepted so far
	arrived chan struct{} // closed, and replaced, when bytes have arrived
}

// A target is where connections are passed on to.
type target struct{ network, address string }

func parseTarget(text string) (target, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		return target{"unix", path}, nil
	}
	if _, _, err := net.SplitHostPort(text); err != nil {
		return target{}, fmt.Errorf("netfault: target %q: write host:port, or unix:/path: %w", text, err)
	}
	return target{"tcp", text}, nil
}

// dialTimeout bounds the connection to the target: on one machine it is made at once, or never.
const dialTimeout = 10 * time.Second

// New starts a proxy on a free port of the loopback interface. The target is "host:port", or "unix:" and the path of a socket; it
// need not be there yet: a connection that cannot be passed on is reset.
func New(target string) (*Proxy, error) {
	to, err := parseTarget(target)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("netfault: %w", err)
	}
	p := &Proxy{
		listener: listener,
		target:   to,
		resetIn:  [2]int{-1, -1},
		links:    make(map[*link]bool),
		arrived:  make(chan struct{}),
	}
	p.life, p.end = context.WithCancel(context.Background())
	p.work.Go(p.accept)
	return p, nil
}

// Addr is where clients connect: "127.0.0.1:port". It stays the same until Close.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Retarget passes connections that it accepts from now on to another server, as when a name or an address moves. Those that it has
// accepted stay where they are: Cut ends them.
func (p *Proxy) Retarget(target string) error {
	to, err := parseTarget(target)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = to
	return nil
}

// Conns is how many connections it is passing on now, or still has to bring to their end.
func (p *Proxy) Conns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Close resets every connection, drops what is held, and returns when no goroutine is left. It may be called more than once.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
	err := p.listener.Close()
	p.Cut()
	p.work.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptors left, or the client is gone already
			select {
			case <-p.life.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
			continue
		}
		if l := p.admit(client); l != nil {
			p.work.Go(l.run)
		} else {
			reset(client)
		}
	}
}

// admit makes a link for a new client; nil: it is to be turned away.
func (p *Proxy) admit(client net.Conn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.refuse {
		return nil
	}
	p.count++
	l := newLink(p, client, p.count)
	p.links[l] = true
	return l
}

func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// allow says how many of n bytes may still pass, and whether the connection is to be reset after them.
func (p *Proxy) allow(side, n int) (pass int, thenReset bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.resetIn[side]
	switch {
	case left < 0:
		return n, false
	case left > n:
		p.resetIn[side] = left - n
		return n, false
	}
	p.resetIn[side] = -1
	return left, true
}

// announce wakes AwaitHeld.
func (p *Proxy) announce() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.arrived)
	p.arrived = make(chan struct{})
}
