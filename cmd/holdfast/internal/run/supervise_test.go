//go:build unix

package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/guard"
	"holdfast.dev/cmd/holdfast/internal/job"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// holding is a supervisor that holds a lock and has started nothing.
func holding(t *testing.T, server *memlock.Server, out *bytes.Buffer, opts ...holdfast.Option) *supervisor {
	t.Helper()
	client := holdfast.New(server.Connect())
	t.Cleanup(func() { client.Close() })
	hold, err := client.Mutex("x", opts...).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &supervisor{plan: planFor(server, out), client: client, hold: hold}
}

// A lock that was lost before the command was started: nothing is started, and the code says so.
func TestLostBeforeTheStart(t *testing.T) {
	server := memlock.NewServer()
	var out bytes.Buffer
	s := holding(t, server, &out)
	s.path = "/bin/true" // whoever starts it needs a sentry, which is not there
	other := holdfast.New(server.Connect())
	defer other.Close()
	if err := other.Break(t.Context(), "x", s.hold.Token()); err != nil {
		t.Fatal(err)
	}
	<-s.hold.Context(t.Context()).Done()
	if code := s.run(); code != exit.Lost || !strings.Contains(out.String(), "not started") {
		t.Errorf("the code is %d; it says %q", code, out.String())
	}
}

// The guard acts as long before the end of the hold as the program would.
func TestWhatTheGuardIsTold(t *testing.T) {
	s := holding(t, memlock.NewServer(), new(bytes.Buffer), holdfast.TTL(time.Hour))
	s.guard = new(guard.Guard) // takes no messages
	for _, grace := range []time.Duration{0, 10 * time.Millisecond} {
		s.plan.Grace = grace
		s.lead = s.plan.lead(s.hold.Left())
		early := guard.Now()
		most := s.hold.Left()
		s.tellUntil()
		least := s.hold.Left()
		late := guard.Now()
		if lead := s.lead; s.told.Before(early.Add(least-lead)) || late.Add(most-lead).Before(s.told) {
			t.Errorf("it acts %v from now; want between %v and %v", s.told.Sub(late), least-lead, most-lead)
		}
	}
	if s.told == driver.Never {
		t.Error("it never acts")
	}
}

// The code is the command's, but a lost lock counts for more, also one that is only found to be lost when it is unlocked.
func TestCode(t *testing.T) {
	lost := &holdfast.LostError{Name: "x", Reason: holdfast.ReasonTaken}
	for _, c := range []struct {
		name   string
		before error
		unlock error
		code   int
		says   int
	}{
		{"all is well", nil, nil, 7, 0},
		{"lost, and told", lost, lost, exit.Lost, 0},
		{"lost when it is unlocked", nil, lost, exit.Lost, 1},
		{"not confirmed", nil, errors.New("no answer"), 7, 1},
	} {
		var out bytes.Buffer
		s := &supervisor{plan: planFor(memlock.NewServer(), &out), lost: c.before, status: 7 << 8}
		s.end(func() error { return c.unlock })
		if got := s.code(); got != c.code || strings.Count(out.String(), "\n") != c.says {
			t.Errorf("%s: the code is %d, want %d; it says %q", c.name, got, c.code, out.String())
		}
	}
	s := &supervisor{status: syscall.WaitStatus(syscall.SIGTERM)}
	if got := s.code(); got != 143 {
		t.Errorf("after TERM the code is %d", got)
	}
}

// What cannot be started has the code that shells use, but for what the system cannot give now: that is 71, and so is a guard.
func TestStartCode(t *testing.T) {
	for err, want := range map[error]int{
		syscall.EAGAIN: exit.System, syscall.ENOMEM: exit.System, syscall.EMFILE: exit.System, syscall.ENFILE: exit.System,
		syscall.ENOENT: exit.NotFound, syscall.ENOEXEC: exit.CannotRun, syscall.EACCES: exit.CannotRun, syscall.E2BIG: exit.CannotRun,
	} {
		if got := startCode(fmt.Errorf("start: %w", &job.StartError{Path: "x", Err: err})); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
		if got := startCode(err); got != exit.System {
			t.Errorf("a guard, %v: %d, want %d", err, got, exit.System)
		}
	}
}

// QUIT is heard like the others, or ignored where INT was: Go's own answer to it is for programmers.
func TestQuitIsHeard(t *testing.T) {
	s := listen()
	<-s.heard
	defer signal.Reset(ending...)
	if err := syscall.Kill(os.Getpid(), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if signal.Ignored(syscall.SIGINT) { // the tests run in the background of a script
		return
	}
	if came := <-s.came; came != syscall.SIGQUIT {
		t.Errorf("%v came", came)
	}
}
