package holdfast

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// A world is one run of the simulation: a server, some clients with some workers each, one or two locks, a network, and trouble,
// all of it drawn from the seed. Each seed has its own mixture of faults, some none at all. After a while everything heals, and
// then everybody must be served.
type world struct {
	seed    uint64
	trace   func(string, ...any) // nil: nobody reads it
	begun   time.Time
	ttl     time.Duration
	longest time.Duration // no hold lives longer without being renewed
	locks   []string
	server  *simServer
	clients []*simClient
	trouble trouble

	ctx  context.Context
	stop context.CancelFunc

	mu         sync.Mutex
	bad        faults
	healed     bool
	holds      map[*Hold]*simHold
	newest     map[string]uint64 // token, by lock
	violations []string
	count      struct{ grants, losses, refusals int }
}

// trouble is which faults this seed has.
type trouble struct {
	network                                     faults
	cuts, pauses, forgets, jumps, breaks, kills bool
}

type simClient struct {
	*Client
	net *simStore
}

type simHold struct {
	client   *simClient
	ctx      context.Context
	released bool // Unlock has begun
}

func newWorld(seed uint64, trace func(string, ...any)) *world {
	random := rand.New(rand.NewPCG(seed, 1))
	w := &world{
		seed: seed, trace: trace, begun: time.Now(),
		ttl:   MinTTL + time.Duration(random.Int64N(int64(900*time.Millisecond))),
		locks: []string{"a", "b"}[:1+random.IntN(2)],
		holds: make(map[*Hold]*simHold), newest: make(map[string]uint64),
	}
	w.longest = 4 * w.ttl
	w.ctx, w.stop = context.WithCancel(context.Background())
	some := func() bool { return random.IntN(3) == 0 }
	w.trouble = trouble{cuts: some(), pauses: some(), forgets: some(), jumps: some(), breaks: some(), kills: some()}
	if !some() {
		w.trouble.network.delay = time.Duration(random.Int64N(int64(w.ttl)))
	}
	if some() {
		w.trouble.network.loss = random.Float64() * 0.3
	}
	if some() {
		w.trouble.network.dup = random.Float64() * 0.3
	}
	w.bad = w.trouble.network
	w.server = newSimServer(w)
	for i := range 2 + random.IntN(3) {
		w.clients = append(w.clients, w.newClient(i, rand.New(rand.NewPCG(seed, uint64(100+i)))))
	}
	return w
}

func (w *world) newClient(i int, random *rand.Rand) *simClient {
	n := &simStore{w: w, name: fmt.Sprint(i), random: random}
	n.clock = newSimClock(0.996+random.Float64()*0.008, n.awake)
	c := &simClient{Client: New(n), net: n}
	jitter := rand.New(rand.NewPCG(w.seed, uint64(200+i)))
	var mu sync.Mutex
	c.random = func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return jitter.Float64()
	}
	return c
}

func (w *world) log(format string, args ...any) {
	if w.trace != nil {
		w.trace("%12v  %s", time.Since(w.begun), fmt.Sprintf(format, args...))
	}
}

func (w *world) faults() faults {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bad
}

// calm reports whether nothing goes wrong in this world but some delay: whoever gives up then waits until all is cleaned up.
func (w *world) calm() bool {
	delay := w.trouble.network.delay
	return w.trouble == trouble{network: faults{delay: delay}} && delay < undoWait/5
}

func (w *world) violation(format string, args ...any) {
	w.log("VIOLATION: "+format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, fmt.Sprintf("after %v: ", time.Since(w.begun))+fmt.Sprintf(format, args...))
}

// run lets the world happen, and returns what went wrong.
func (w *world) run() []string {
	w.log("ttl %v, locks %d, clients %d, trouble %+v", w.ttl, len(w.locks), len(w.clients), w.trouble)
	var workers sync.WaitGroup
	random := rand.New(rand.NewPCG(w.seed, 2))
	for i, c := range w.clients {
		for j := range 1 + random.IntN(3) {
			worker := &simWorker{
				w: w, c: c, label: fmt.Sprintf("worker-%d-%d", i, j),
				random: rand.New(rand.NewPCG(w.seed, uint64(1000+10*i+j))),
			}
			workers.Go(worker.run)
		}
	}
	workers.Go(func() { w.disturb(rand.New(rand.NewPCG(w.seed, 3))) })
	workers.Wait()
	for _, c := range w.clients {
		if err := c.Close(); err != nil && !c.net.isDead() {
			w.violation("closing a healthy client: %v", err)
		}
		w.checkEmpty(c)
	}
	time.Sleep(w.longest + w.ttl)
	if left := w.server.labels(); len(left) > 0 {
		w.violation("left behind in the store: %q", left)
	}
	w.stop()
	return w.violations
}

// disturb makes trouble for a while, and then heals everything.
func (w *world) disturb(random *rand.Rand) {
	for range 12 {
		time.Sleep(time.Duration(random.Int64N(int64(2 * w.ttl))))
		c := w.clients[random.IntN(len(w.clients))]
		d := time.Duration(random.Int64N(int64(2 * w.ttl)))
		switch t := w.trouble; random.IntN(6) {
		case 0:
			if t.cuts {
				w.cut(c, d)
			}
		case 1:
			if t.pauses {
				w.pause(c, d)
			}
		case 2:
			if t.forgets {
				w.log("the store forgets everything")
				w.server.forget()
			}
		case 3:
			if t.jumps && random.IntN(2) == 0 {
				w.log("client %s: clock jumps %v ahead", c.net.name, d)
				c.net.clock.jump(d)
			} else if t.jumps {
				w.log("server: clock jumps %v back", d/4)
				w.server.clock.jump(-d / 4)
			}
		case 4:
			if t.breaks {
				w.breakOne()
			}
		case 5:
			if t.kills && random.IntN(4) == 0 && c != w.clients[0] {
				w.log("client %s is cut off for good", c.net.name)
				w.cut(c, -1)
			}
		}
	}
	w.log("everything heals")
	w.mu.Lock()
	w.bad, w.healed = faults{}, true
	w.mu.Unlock()
	for _, c := range w.clients {
		c.net.mu.Lock()
		c.net.cut = false // a pause ends by itself
		c.net.mu.Unlock()
	}
}

// cut keeps a client from the server for d, for good if d is negative.
func (w *world) cut(c *simClient, d time.Duration) {
	w.log("client %s: cut off for %v", c.net.name, d)
	set := func(cut, dead bool) {
		c.net.mu.Lock()
		defer c.net.mu.Unlock()
		c.net.cut, c.net.dead = cut, c.net.dead || dead
	}
	set(true, d < 0)
	if d >= 0 {
		time.AfterFunc(d, func() { set(false, false) })
	}
}

// pause stops a client, as SIGSTOP would, for d.
func (w *world) pause(c *simClient, d time.Duration) {
	w.log("client %s: paused for %v", c.net.name, d)
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if until := time.Now().Add(d); until.After(c.net.paused) {
		c.net.paused = until
	}
}

func (w *world) breakOne() {
	w.mu.Lock()
	var name string
	var token uint64
	for h, s := range w.holds {
		if !s.released && h.Token() > token {
			name, token = h.Name(), h.Token()
		}
	}
	w.mu.Unlock()
	if token > 0 {
		w.log("lock %s, token %d: broken", name, token)
		w.server.breakHold(name, token)
	}
}

func (w *world) isHealed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.healed
}

// granted checks, at the only moments at which it can begin to be wrong, that nobody else believes to hold the lock.
func (w *world) granted(c *simClient, label string, h *Hold) context.Context {
	ctx := h.Context(context.Background())
	left := believes(h)
	w.log("%s: granted %s, token %d, left %v", label, h.Name(), h.Token(), left)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count.grants++
	for other, s := range w.holds {
		if other.Name() != h.Name() || s.released {
			continue
		}
		if theirs := believes(other); theirs > 0 && left > 0 {
			w.report("%s: token %d is granted while token %d is valid for another %v", h.Name(), h.Token(), other.Token(), theirs)
		}
		if s.ctx.Err() == nil && !s.client.net.isPaused() {
			w.report("%s: token %d is granted before the context of token %d has ended", h.Name(), h.Token(), other.Token())
		}
	}
	if h.Token() <= w.newest[h.Name()] {
		w.report("%s: token %d is granted after token %d", h.Name(), h.Token(), w.newest[h.Name()])
	}
	w.newest[h.Name()] = h.Token()
	w.holds[h] = &simHold{client: c, ctx: ctx}
	return ctx
}

// report is violation under w.mu.
func (w *world) report(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if w.trace != nil {
		w.trace("%12v  VIOLATION: %s", time.Since(w.begun), text)
	}
	w.violations = append(w.violations, fmt.Sprintf("after %v: %s", time.Since(w.begun), text))
}

// believes is Left without its side effect of ending what is over.
func believes(h *Hold) time.Duration {
	c := h.t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.ended {
		return 0
	}
	return h.t.left(c.clock.Now())
}

func (w *world) releasing(h *Hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds[h].released = true
}

// checkEmpty checks that a closed client keeps nothing.
func (w *world) checkEmpty(c *simClient) {
	c.mu.Lock()
	tenures, keeps, running := len(c.tenures), len(c.keeps), c.running
	c.mu.Unlock()
	if tenures+keeps > 0 || (running > 0 && !c.net.isDead()) {
		w.violation("client %s after Close: %d tenures, %d keeps, %d calls under way", c.net.name, tenures, keeps, running)
	}
}

// explained reports whether err is one of those that Lock may give when its context ends or the store is in trouble.
func explained(err error) bool {
	var store *StoreError
	return errors.Is(err, ErrHeld) || errors.Is(err, ErrGuarded) || errors.As(err, &store) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// forgotten checks, where nothing goes wrong, that a Lock that gave up has left nothing in the store.
func (w *world) forgotten(label string) {
	if w.calm() && slices.ContainsFunc(w.server.labels(), func(l string) bool { return l == owner+" "+label }) {
		w.violation("%s gave up, but still waits or holds", label)
	}
}

var _ driver.Store = (*simStore)(nil)
