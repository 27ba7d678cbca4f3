//go:build linux

package filelock_test

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast.dev"
)

var (
	stormFor  = flag.Duration("storm.for", 2*time.Second, "for how long TestStorm kills and stops processes")
	stormSeed = flag.Uint64("storm.seed", 0, "of TestStorm and TestKilledInBurst; 0: a new one")
)

// stormRand prints the seed. The processes themselves are not part of it: the same seed makes the same storm, not the same race.
func stormRand(t *testing.T) *rand.Rand {
	seed := *stormSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-storm.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// pace is the pause between two blows; nothing depends on how long it is.
func pace(r *rand.Rand, longest time.Duration) { <-time.After(time.Duration(r.Int64N(int64(longest)))) }

// A storm is a crowd of processes that write to one log under one lock, while some are stopped and some are killed.
type storm struct {
	t       *testing.T
	todo    task
	change  func(*task) // what is special about a process, by its ID
	alive   map[int]*party
	stopped []int // in the order in which they were
	killed  map[int]bool
	next    int
}

func newStorm(t *testing.T) *storm {
	s := &storm{t: t, change: func(*task) {}, alive: make(map[int]*party), killed: make(map[int]bool)}
	s.todo = task{Do: "append", Dir: newDir(t), Name: "lock", Log: filepath.Join(t.TempDir(), "log")}
	if err := os.WriteFile(s.todo.Log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *storm) join(n int) {
	s.t.Helper()
	for range n {
		todo := s.todo
		todo.ID = s.next
		s.change(&todo)
		s.alive[s.next] = spawn(s.t, todo)
		s.next++
	}
}

// any returns one of the living, always the same for the same random numbers.
func (s *storm) any(r *rand.Rand) int {
	for {
		if id := r.IntN(s.next); s.alive[id] != nil {
			return id
		}
	}
}

// maxStopped is how many processes are stopped at a time: with more of them the lock would only ever wait for one that is.
const maxStopped = 3

// blow does something to one of the processes.
func (s *storm) blow(r *rand.Rand) {
	s.t.Helper()
	id := s.any(r)
	p := s.alive[id]
	switch what := r.IntN(3); {
	case what == 0:
		p.kill()
		delete(s.alive, id)
		s.killed[id] = true
		s.join(1)
	case len(s.stopped) < maxStopped && !slices.Contains(s.stopped, id):
		if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			s.t.Fatalf("stopping process %d: %v", id, err)
		}
		s.stopped = append(s.stopped, id)
		return
	case len(s.stopped) > 0: // the one that has stood still for the longest time
		id = s.stopped[0]
		s.alive[id].goOn()
	}
	s.stopped = slices.DeleteFunc(s.stopped, func(other int) bool { return other == id })
}

// calm lets everybody finish, and returns how many holds each of the survivors had.
func (s *storm) calm() map[int]int {
	s.t.Helper()
	for _, id := range s.stopped {
		s.alive[id].goOn()
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	counts := make(map[int]int)
	for id, p := range s.alive {
		all.Go(func() {
			if _, err := p.listenFor("ready", ""); err != nil {
				s.t.Errorf("process %d: %v", id, err)
				return
			}
			p.tell(order{Do: "end"})
			w, err := p.listenFor("done", "")
			if err != nil {
				s.t.Errorf("process %d, which survived: %v", id, err)
			}
			mu.Lock()
			defer mu.Unlock()
			counts[id] = w.Count
		})
	}
	all.Wait()
	return counts
}

// TestStorm: processes hammer a lock while random ones are stopped, let go on, and killed. Those who survive all finish, no two are
// ever inside at once that must not be, everything that a survivor did is there, and in the end no file is left.
func TestStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes")
	}
	t.Parallel()
	for name, change := range map[string]func(*task){
		"as ever":                   func(*task) {},
		"contexts end in the queue": func(todo *task) { todo.Hasty = true },
		"some poll":                 func(todo *task) { todo.Poll = todo.ID%2 == 0 },
		"readers and permits":       func(todo *task) { todo.Kinds = true },
		"all of it": func(todo *task) {
			todo.Hasty, todo.Poll, todo.Kinds = todo.ID%3 == 0, todo.ID%4 == 0, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := stormRand(t)
			s := newStorm(t)
			s.change = change
			s.join(12)
			for late := time.Now().Add(*stormFor); time.Now().Before(late); pace(r, 20*time.Millisecond) {
				s.blow(r)
			}
			counts := s.calm()
			marks, err := readMarks(s.todo.Log)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d processes, %d of them killed, %d holds", s.next, len(s.killed), len(marks)/2)
			if err := judge(marks, counts, s.killed); err != nil {
				t.Error(err)
			}
			sweeps(t, s.todo.Dir)
		})
	}
}

// TestKilledInBurst: a process is killed at a random moment of locking and unlocking as fast as it can, with and without others that
// do the same. Nobody is ever stuck behind it, and no two are inside at once.
func TestKilledInBurst(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	t.Parallel()
	r := stormRand(t)
	s := newStorm(t)
	locks := open(t, s.todo.Dir)
	for range rounds {
		s.join(1 + r.IntN(2))
		for len(s.alive) > 0 {
			id := s.any(r)
			s.alive[id].hears("ready", "")
			pace(r, 4*time.Millisecond)
			s.alive[id].kill()
			delete(s.alive, id)
			s.killed[id] = true
		}
		unlock(t, gets(t, locks, s.todo.Name))
	}
	marks, err := readMarks(s.todo.Log)
	if err != nil {
		t.Fatal(err)
	}
	if err := judge(marks, nil, s.killed); err != nil {
		t.Error(err)
	}
	t.Logf("%d processes were killed, in %d holds", len(s.killed), len(marks)/2)
	shut(t, locks)
	sweeps(t, s.todo.Dir)
}

// TestKilledInOpen: the same while processes open, lock, unlock and close. What is half made or half removed is finished by others.
func TestKilledInOpen(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	t.Parallel()
	r := stormRand(t)
	s := newStorm(t)
	s.todo.Do = "reopen"
	for range rounds {
		s.join(2)
		for len(s.alive) > 0 {
			id := s.any(r)
			s.alive[id].hears("ready", "")
			pace(r, 4*time.Millisecond)
			s.alive[id].kill()
			for _, w := range s.alive[id].rest() {
				t.Errorf("process %d: %s %s", id, w.Said, w.Error)
			}
			delete(s.alive, id)
		}
	}
	locks := open(t, s.todo.Dir)
	unlock(t, take(t, locks, s.todo.Name))
	shut(t, locks)
	sweeps(t, s.todo.Dir)
}

// TestStoppedInBurst: a process is stopped at a random moment of locking and unlocking as fast as it can, so often just while it works on
// the lock's file. Others who want that lock wait no longer than their contexts allow, other locks are not delayed at all, and when the
// process goes on, so does everybody.
func TestStoppedInBurst(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	t.Parallel()
	r := stormRand(t)
	s := newStorm(t)
	locks := open(t, s.todo.Dir)
	unlock(t, take(t, locks, "another")) // now it has tokens for all rounds: new ones come from the record, which is everybody's
	s.join(1)
	burst := s.alive[0]
	burst.hears("ready", "")
	unanswered := 0
	for range rounds {
		pace(r, 4*time.Millisecond)
		burst.stop()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		hold, err := locks.Mutex(s.todo.Name).Lock(ctx)
		switch {
		case err == nil:
			unlock(t, hold)
		case !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("a wait that was cut off says %v", err)
		case !errors.Is(err, holdfast.ErrHeld):
			if unanswered++; unanswered == 1 {
				t.Logf("what a user sees: %v", err)
			}
		}
		cancel()
		unlock(t, take(t, locks, "another"))
		burst.goOn()
		unlock(t, gets(t, locks, s.todo.Name))
	}
	t.Logf("%d times of %d it was stopped while it worked on the file", unanswered, rounds)
	burst.tell(order{Do: "end"})
	counts := map[int]int{0: burst.hears("done", "").Count}
	marks, err := readMarks(s.todo.Log)
	if err != nil {
		t.Fatal(err)
	}
	if err := judge(marks, counts, nil); err != nil {
		t.Error(err)
	}
	shut(t, locks)
	nothingLeft(t, s.todo.Dir)
}
