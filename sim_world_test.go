package holdfast

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// A world is one run of the simulation: one or two servers, some machines with some workers each, some locks, a network, and
// trouble, all of it drawn from the seed. Each seed has its own mixture of what workers do and of faults, some none at all. After a
// while everything heals, and then everybody must be served.
type world struct {
	seed     uint64
	trace    func(string, ...any) // nil: nobody reads it
	begun    time.Time
	ttl      time.Duration
	session  time.Duration // > 0: all that a client holds on a server lives by one lease of this TTL
	longest  time.Duration // no hold lives longer without being renewed
	locks    []simKey      // in the order in which everybody takes them
	limit    int           // of the semaphores
	uses     simUses
	servers  []*simServer
	machines []*simMachine
	trouble  trouble

	ctx  context.Context
	stop context.CancelFunc

	mu         sync.Mutex
	bad        faults
	healed     bool
	held       map[simKey][]*simHold
	tokens     map[simKey]*simTokens
	violations []string
	count      simCount
}

// simCount is what happened.
type simCount struct{ grants, losses, refusals, readers, permits, multis, terms, sessions int }

// simUses is what workers of this world do beside locking mutexes.
type simUses struct{ readers, permits, multis, elections bool }

// A simKey is a lock or a semaphore of one of the servers.
type simKey struct {
	server  int
	name    string
	permits bool
}

func (k simKey) String() string {
	if k.permits {
		return fmt.Sprintf("semaphore %s of server %d", k.name, k.server)
	}
	return fmt.Sprintf("lock %s of server %d", k.name, k.server)
}

// A simMachine is a program on a computer: it has a clock, and a client of each server.
type simMachine struct {
	w       *world
	name    string
	clock   *simClock
	clients []*simClient

	mu     sync.Mutex
	paused time.Time // nothing is done before
	dead   bool      // cut off for good
}

type simClient struct {
	*Client
	net *simStore
}

func newWorld(seed uint64, trace func(string, ...any)) *world {
	random := rand.New(rand.NewPCG(seed, 1))
	w := &world{
		seed: seed, trace: trace, begun: time.Now(),
		ttl:   MinTTL + time.Duration(random.Int64N(int64(900*time.Millisecond))),
		limit: 2 + random.IntN(3),
		held:  make(map[simKey][]*simHold), tokens: make(map[simKey]*simTokens),
	}
	w.longest = 4 * w.ttl
	w.ctx, w.stop = context.WithCancel(context.Background())
	some := func() bool { return random.IntN(3) == 0 }
	w.uses = simUses{readers: some(), permits: some(), multis: some(), elections: some()}
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
	if random.IntN(4) == 0 {
		w.session = w.ttl/2 + time.Duration(random.Int64N(int64(w.ttl)))
	}
	w.populate(random)
	return w
}

// populate makes the servers with their locks, and the machines with their clients.
func (w *world) populate(random *rand.Rand) {
	servers, names := 1, 1+random.IntN(2)
	if w.uses.multis {
		if servers = 1 + random.IntN(2); servers == 1 {
			names = 2
		}
	}
	for i := range servers {
		w.servers = append(w.servers, newSimServer(w, i))
		for _, name := range []string{"a", "b"}[:names] {
			w.locks = append(w.locks, simKey{server: i, name: name})
		}
	}
	for i := range 2 + random.IntN(3) {
		w.machines = append(w.machines, w.newMachine(i))
	}
}

func (w *world) newMachine(i int) *simMachine {
	m := &simMachine{w: w, name: fmt.Sprint(i)}
	m.clock = newSimClock(0.996+rand.New(rand.NewPCG(w.seed, uint64(100+i))).Float64()*0.008, func() { m.awake("clock") })
	for _, server := range w.servers {
		n := &simStore{w: w, machine: m, server: server}
		c := &simClient{Client: New(n), net: n}
		c.random = func() float64 { return w.random(n.String()).Float64() }
		m.clients = append(m.clients, c)
	}
	return m
}

func (m *simMachine) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *simMachine) isPaused() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Until(m.paused) > 0
}

// sleeps reports whether the machine is paused, or has been so a moment ago: much happens at once when it wakes, in any order.
func (m *simMachine) sleeps() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.paused) < time.Millisecond
}

// awake returns once the machine is not paused. On waking what was held up goes on one by one, in an order that the seed decides.
func (m *simMachine) awake(what string) {
	for m.isPaused() {
		m.mu.Lock()
		left := time.Until(m.paused)
		m.mu.Unlock()
		select {
		case <-m.w.ctx.Done():
			return
		case <-time.After(left + m.w.aMoment(what)):
		}
	}
}

// random draws for one purpose at this moment.
func (w *world) random(what string) *rand.Rand {
	hash := fnv.New64a()
	hash.Write([]byte(strings.TrimPrefix(what, owner()))) // without the id of this process
	return rand.New(rand.NewPCG(w.seed<<32^hash.Sum64(), uint64(time.Since(w.begun))))
}

// aMoment is a time that hardly counts, but keeps those apart who would otherwise go on at the same moment in any order.
func (w *world) aMoment(what string) time.Duration {
	return time.Duration(w.random(what).Int64N(int64(100 * time.Microsecond)))
}

func (w *world) log(format string, args ...any) {
	if w.trace != nil {
		w.trace("%12v  %s", time.Since(w.begun), fmt.Sprintf(format, args...))
	}
}

func (w *world) violation(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report(format, args...)
}

// report is violation under w.mu.
func (w *world) report(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.log("VIOLATION: %s", text)
	w.violations = append(w.violations, fmt.Sprintf("after %v: %s", time.Since(w.begun), text))
}

func (w *world) tally(count func(*simCount)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	count(&w.count)
}

// run lets the world happen.
func (w *world) run() {
	w.log("ttl %v, session %v, servers %d, locks %v, machines %d, used beside mutexes %+v, trouble %+v",
		w.ttl, w.session, len(w.servers), w.locks, len(w.machines), w.uses, w.trouble)
	var workers sync.WaitGroup
	random := rand.New(rand.NewPCG(w.seed, 2))
	for i, m := range w.machines {
		for j := range 1 + random.IntN(3) {
			worker := &simWorker{
				w: w, m: m, name: fmt.Sprintf("worker-%d-%d", i, j),
				random: rand.New(rand.NewPCG(w.seed, uint64(1000+10*i+j))),
			}
			workers.Go(worker.run)
		}
	}
	workers.Go(func() { w.disturb(rand.New(rand.NewPCG(w.seed, 3))) })
	workers.Go(func() { w.audit(rand.New(rand.NewPCG(w.seed, 4))) })
	workers.Wait()
	for _, m := range w.machines {
		for _, c := range m.clients {
			if err := c.Close(); err != nil && !m.isDead() {
				w.violation("closing a healthy client: %v", err)
			}
			w.checkEmpty(c)
		}
	}
	time.Sleep(w.longest + w.ttl)
	if left := w.labels(); len(left) > 0 {
		w.violation("left behind in a store: %q", left)
	}
	w.stop()
}
