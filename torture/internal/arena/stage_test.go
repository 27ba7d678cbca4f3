package arena

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/torture/internal/history"
)

// ways is how many processes a stage has, each with a way of its own to the server.
const ways = 3

// A stage is a store of its own, and a fault that can be looked at while it lasts.
type stage struct {
	*testing.T
	fault driver.Fault
	arena Arena
	scene *Scene
	crew  *recorder
}

// newStage starts a store that can have the fault.
func newStage(t *testing.T, kind Kind, fault driver.Fault) *stage {
	t.Helper()
	const ttl = 100 * time.Millisecond
	a, err := kind.Start(t.Context(), Options{Dir: t.TempDir(), TTL: ttl, Processes: ways, Faults: []driver.Fault{fault}})
	servers.Need(t, err)
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	crew := new(recorder)
	return &stage{T: t, fault: fault, arena: a, crew: crew,
		scene: &Scene{TTL: ttl, Locks: []string{"hot", "warm"}, Random: rand.New(middle{}), Workers: crew}}
}

// play lets the fault happen. Without any arguments it lasts as long as it does; else it lasts until they have looked at it, each at one
// stretch of time that it lets pass.
func (s *stage) play(looks ...func()) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	scene, c := *s.scene, &curtain{left: len(looks), lasts: make(chan chan struct{}, len(looks))}
	scene.pass = c.pass
	if len(looks) > 0 {
		scene.TTL = time.Hour // what is late does not come by itself
	}
	done := make(chan error, 1)
	go func() {
		done <- s.arena.Causes()[s.fault].Do(ctx, &scene)
		close(done)
	}()
	defer func() { // also if a look ends the test
		for {
			select {
			case over := <-c.lasts:
				close(over)
			case <-done:
				return
			}
		}
	}()
	for _, look := range looks {
		select {
		case over := <-c.lasts:
			func() {
				defer close(over)
				look()
			}()
		case err := <-done:
			s.Fatalf("it was over before anybody could look: %v", err)
		}
	}
	if err := <-done; err != nil {
		s.Fatal(err)
	}
}

// until waits for something to become true.
func (s *stage) until(what string, is func() bool) {
	s.Helper()
	for begun := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > patience {
			s.Fatalf("after %v it is still not so that %s", patience, what)
		}
	}
}

// patience is for what must come, on a machine that has a lot to do.
const patience = 30 * time.Second

// A curtain makes the first calls of Scene.Pass end when the test says so, as if their time were over.
type curtain struct {
	lasts chan chan struct{} // one for each call: closed to let it end

	mu   sync.Mutex
	left int
}

func (c *curtain) pass(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	wait := c.left > 0
	if wait {
		c.left--
	}
	c.mu.Unlock()
	if !wait {
		return new(Scene).Pass(ctx, d)
	}
	over := make(chan struct{})
	c.lasts <- over
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// middle is chance that always takes the middle: of three ways the second, and of "all or one" one.
type middle struct{}

func (middle) Uint64() uint64 { return 1<<63 | 1<<52 }

func TestMiddle(t *testing.T) {
	r := rand.New(middle{})
	if f, one, of3 := r.Float64(), r.IntN(2), r.IntN(3); f != 0.5 || one != 0 || of3 != 1 {
		t.Error(f, one, of3)
	}
}

// A recorder is workers that only write down what is done to them.
type recorder struct {
	mu    sync.Mutex
	notes []note
}

type note struct {
	text string
	at   time.Time
}

func (r *recorder) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, note{fmt.Sprintf(format, args...), time.Now()})
}

func (r *recorder) Count() int { return ways }
func (r *recorder) Stop(process int) (goOn func()) {
	r.add("stop %d", process)
	return func() { r.add("go on %d", process) }
}
func (r *recorder) StopInside(context.Context) (goOn func(), err error) {
	r.add("stop inside")
	return func() { r.add("go on") }, nil
}
func (r *recorder) Kill(process int)                        { r.add("kill %d", process) }
func (r *recorder) Inside(context.Context, func(int)) error { return errors.New("no fault needs it") }
func (r *recorder) Retire(process int)                      { r.add("retire %d", process) }
func (r *recorder) Tell(process int, line string)           { r.add("tell %d %s", process, line) }
func (r *recorder) StopWriting(_ context.Context, until history.Op) error {
	r.add("stop writing until %v", until)
	return nil
}
func (r *recorder) Burn(_ context.Context, processes int) (end func(), err error) {
	r.add("burn %d", processes)
	return func() { r.add("end") }, nil
}
