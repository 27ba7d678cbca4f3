//go:build unix

package run

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/group"
	"holdfast.dev/cmd/holdfast/internal/guard"
	"holdfast.dev/cmd/holdfast/internal/job"
	"holdfast.dev/driver"
)

// A supervisor stays with a command from its start to the end of its last process. Everything happens on one goroutine, in loop.
type supervisor struct {
	plan    *Plan
	path    string // of the command
	id      guard.ID
	client  *holdfast.Client
	hold    *holdfast.Hold
	news    *news
	signals *signals
	sentry  *sentry

	valid   context.Context // ends with the hold
	lost    error           // why it ended
	lead    time.Duration   // how long before the end of the hold nothing of the command must run any more
	guard   *guard.Guard
	told    driver.Instant // until when, the guard thinks, the hold is good
	keep    []*os.File     // for the guard
	job     *job.Job
	kin     *group.Kin       // what is being ended; nil: nothing
	kill    <-chan time.Time // when to send KILL
	killed  <-chan struct{}  // closed when nothing runs any more; nil: it was not sent
	linger  <-chan time.Time // when to say that something still runs
	posted  time.Time        // when the last guard was
	replace <-chan time.Time // when to start another guard
	checked <-chan struct{}  // closed when the lock was looked at after a stop; nil: nobody looks
	asking  syscall.Signal   // by which the command was stopped
	again   <-chan time.Time // when to look again at a command that waits for the terminal
	status  syscall.WaitStatus

	passedINT   bool
	interrupted bool // by ^C, in a script that must see it
	telling     sync.WaitGroup
}

// run runs the command and releases the lock. It returns the code to end with.
func (s *supervisor) run() int {
	valid, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.valid = s.hold.Context(valid)
	s.lead = s.plan.lead(s.hold.Left())
	if s.lost = context.Cause(s.valid); s.lost != nil { // the program was stopped since the grant
		s.end(s.hold.Undo)
		s.plan.Voice.Printf("%v; the command was not started", s.lost)
		return exit.Lost
	}
	if err := s.start(); err != nil {
		s.end(s.hold.Undo)
		s.plan.Voice.Printf("%v", err)
		return startCode(err)
	}
	s.tell(s.plan.Verbose && !s.plan.Quiet, "got %s; running %s", s.hold, s.path)
	s.loop()
	s.lookBack()
	s.job.Close()
	switch {
	case s.lost != nil:
		s.awaitGrace()
		s.killAll() // what has left the group, too
		s.awaitKilled()
	case s.status.Signaled():
		s.inner().Await(forInner) // if the command was a run, its guard is at work
	}
	s.end(s.hold.Unlock)
	return s.code()
}

// start starts the guard, and then the command.
func (s *supervisor) start() (err error) {
	if s.keep, err = s.client.Files(); err != nil && !errors.Is(err, holdfast.ErrUnsupported) {
		return err
	}
	if err := s.post(); err != nil {
		return err
	}
	<-s.signals.ready
	if fewProcesses() {
		spareThreads(4)
	}
	s.job, err = job.Start(job.Command{
		Path:    s.path,
		Args:    s.plan.Command,
		Env:     s.plan.environment(s.hold, s.news, runsWith(s.id)),
		Started: s.started,
		Leave:   s.plan.Leave,
	}, s.signals.came)
	return err
}

// lingerAfter is how long what a command left in the background may take to end before it is mentioned.
const lingerAfter = 2 * time.Second

// loop returns when nothing of the command runs any more.
func (s *supervisor) loop() {
	s.signals.listenForAll()
	lost, changes, guardEnded := s.valid.Done(), s.job.Changes(), s.guard.Ended()
	for {
		select {
		case status, more := <-changes:
			if !more {
				return
			}
			s.changed(status)
		case came := <-s.signals.came:
			s.pass(came.(syscall.Signal))
		case came := <-s.signals.others:
			s.pass(came.(syscall.Signal))
		case <-s.checked:
			s.checked = nil
			if lost != nil && s.valid.Err() == nil {
				s.job.Continued()
			}
		case <-lost:
			lost = nil
			s.lose()
		case <-s.kill:
			s.killAll()
		case <-s.news.renewed:
			if lost != nil && s.tellUntil() != nil {
				s.guard.Kill() // it has ended, or does not read: another one will
			}
		case <-guardEnded:
			guardEnded = nil
			s.guard.End()
			s.replace = time.After(s.betweenGuards())
		case <-s.replace:
			s.replace = nil
			if err := s.post(); err != nil {
				s.tell(true, "%v; trying again: until then nobody ends the command if this program is killed", err)
				s.replace = time.After(time.Second)
				break
			}
			guardEnded = s.guard.Ended()
		case <-s.again:
			s.stopped(s.asking)
		case <-s.linger:
			_, onTerminal := s.plan.Voice.Terminal()
			s.tell((s.plan.Verbose || onTerminal) && !s.plan.Quiet, "the command has ended, but it left something running in the background "+
				"(process group %d): the lock is held until that ends; -o would not wait for it", s.job.Group())
		}
	}
}

// changed does what follows when the command has stopped or ended.
func (s *supervisor) changed(status syscall.WaitStatus) {
	if status.Stopped() {
		s.stopped(status.StopSignal())
		return
	}
	s.status = status
	// ^C was typed at the command, or at us who passed it on.
	typed := s.job.HasTerminal() && !s.passedINT || job.InForeground() && s.passedINT
	s.interrupted = typed && status.Signaled() && status.Signal() == syscall.SIGINT && underShell()
	s.job.Ended()
	s.linger = time.After(lingerAfter)
}

// stopped does what follows when the command was stopped: mostly this program stops too.
func (s *supervisor) stopped(by syscall.Signal) {
	s.guard.Pause()
	settled := s.job.Stopped(by)
	s.guard.Resume()
	s.asking, s.again = by, nil
	if !settled {
		s.again = time.After(100 * time.Millisecond)
	}
}

// pass passes a signal on. CONT means that this program was stopped: before the command goes on the lock is looked at.
func (s *supervisor) pass(came syscall.Signal) {
	if came != syscall.SIGCONT {
		s.passedINT = s.passedINT || came == syscall.SIGINT
		s.job.Signal(came)
		return
	}
	if s.checked != nil {
		return
	}
	checked := make(chan struct{})
	s.checked = checked
	go func() {
		defer close(checked)
		check, cancel := context.WithTimeout(s.valid, s.plan.grace())
		defer cancel()
		s.hold.Check(check) // a loss ends s.valid, and what is not known changes nothing
	}()
}

// lose ends the command because the hold has ended, or will soon.
func (s *supervisor) lose() {
	s.lost = context.Cause(s.valid)
	left := s.hold.Left()
	s.kill = time.After(s.plan.patience(left, s.lead))
	s.kin = s.family()
	s.kin.Signal(syscall.SIGTERM)
	s.kin.Signal(syscall.SIGCONT) // a stopped process cannot end
	s.tell(true, "%v; ending the command", s.lost)
}

// killAll kills what is left of the command, once. It does not wait for its end: killed tells.
func (s *supervisor) killAll() {
	if s.killed != nil {
		return
	}
	if s.kin == nil { // the guard has acted
		s.kin = s.family()
	}
	s.kin.Denied = func() {
		s.tell(true, "the command, or a part of it, runs as another user and cannot be ended: it may run on although the lock is lost")
	}
	killed := make(chan struct{})
	s.killed = killed
	go func() {
		defer close(killed)
		s.kin.Kill()
	}()
}

// awaitGrace lets what has left the group have the same time as the group.
func (s *supervisor) awaitGrace() {
	for s.killed == nil && s.kin != nil && s.kin.Runs() {
		select {
		case <-s.kill:
			return
		case came := <-s.signals.came:
			if slices.Contains(ending, came) {
				s.kin.Signal(came.(syscall.Signal))
			}
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// awaitKilled waits until nothing of the command runs any more, or somebody is tired of it: the lock is lost anyway.
func (s *supervisor) awaitKilled() {
	for {
		select {
		case <-s.killed:
			return
		case came := <-s.signals.came:
			if slices.Contains(ending, came) {
				return
			}
		}
	}
}

// forInner is how long an inner guard is waited for: it needs milliseconds, but an inner run may also live on, and need no waiting for.
const forInner = 2 * time.Second

// family is everything that belongs to the command.
func (s *supervisor) family() *group.Kin {
	session, _ := unix.Getsid(0)
	return &group.Kin{Group: s.job.Group(), Session: session, Mark: s.id.String()}
}

// inner is what belongs to runs inside the command.
func (s *supervisor) inner() *group.Kin {
	inner := s.family()
	inner.Group, inner.Mark = 0, inner.Mark+"/"
	return inner
}

// tell prints a message, if it is wanted, without waiting for it: standard error may be a pipe that nobody reads, and the command must
// be ended in time all the same.
func (s *supervisor) tell(wanted bool, format string, args ...any) {
	if wanted {
		s.telling.Go(func() { s.plan.Voice.Printf(format, args...) })
	}
}

// end dismisses the guard and releases the lock.
func (s *supervisor) end(release func() error) {
	if s.guard != nil {
		s.guard.Leave()
		s.guard.Kill()
	}
	switch err := release(); {
	case errors.Is(err, holdfast.ErrLost):
		if s.lost == nil {
			s.tell(true, "%v", err)
			s.lost = err
		}
	case err != nil:
		s.tell(true, "%v", err)
	}
	for _, f := range s.keep {
		f.Close()
	}
	told := make(chan struct{})
	go func() {
		s.telling.Wait()
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(time.Second):
	}
}

// code is what the program ends with: a lost lock is worth more than what the command says.
func (s *supervisor) code() int {
	switch {
	case s.lost != nil:
		return exit.Lost
	case s.status.Signaled():
		return exit.Signal(int(s.status.Signal()))
	}
	return s.status.ExitStatus()
}

// startCode is the code for a guard or a command that could not be started.
func startCode(err error) int {
	var start *job.StartError
	switch {
	case !errors.As(err, &start), errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE),
		errors.Is(err, syscall.ENFILE):
		return exit.System
	case errors.Is(err, os.ErrNotExist):
		return exit.NotFound
	}
	return exit.CannotRun
}

// spareThreads makes Go's runtime have so many threads more than it needs. It never gives one back; but where no more processes can be
// made, because the command has made them all, a runtime that wants one more thread ends the program. It takes a while, so it is done
// only where there may be few (fewProcesses).
func spareThreads(n int) {
	var ready sync.WaitGroup
	ready.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			ready.Wait()
		}()
	}
	ready.Wait()
}
