//go:build unix

// Package job starts a command in a process group of its own, waits for it, and shares the terminal with it as a shell would.
//
// # Processes
//
// The command leads a group that has its number. A thread is set aside for it, which starts it and stays until it has ended: on
// Linux the kernel kills the command when that thread ends (parent-death signal), so the thread must not be one that Go may end.
// When the command itself has ended, its group may still have members, started in the background: the job is over when they are.
// Processes that left the group, as daemons do, are nobody's business here.
//
// # The terminal
//
// A shell gives the terminal to the group of this program. If that is in the foreground the command's group gets it, so that ^C and
// ^Z and what is typed go there; when the command stops or ends this program takes it back, because the shell expects it there. In a
// pipeline the others of our group may want to read what is typed (a pager does): there the command gets the terminal only once it
// is stopped because it wants it.
//
//	Stopped, wants the terminal (TTIN, TTOU), and we are in the foreground  → it gets it, and goes on
//	Stopped otherwise → terminal back; a ^Z, which would have stopped our whole group without us, stops the rest of that too;
//	                    then this program stops, by a signal that cannot be ignored. The shell sees a stopped job.
//	Continued (fg, bg) → the caller checks its lock; if we are in the foreground the command gets the terminal back; it goes on
//
// Where nobody can continue us, because our group is orphaned (ssh -t host holdfast run …, a program on a terminal without a shell), a
// ^Z must not stop anything, and would not without us: the command is continued at once.
package job

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"holdfast.dev/cmd/holdfast/internal/group"
)

// A Command is what to start.
type Command struct {
	Path    string   // of the executable
	Args    []string // its name first
	Env     []string
	Started func(group int) // called at once
	Leave   bool            // the job is over when the command is, whatever it leaves in the background
}

// A Job is a command that runs. Its methods are for one goroutine.
type Job struct {
	pid     int
	changes chan syscall.WaitStatus

	terminal *terminal // nil: there is none
	eager    bool      // it gets the terminal without asking
	gave     bool      // it has got it, and we have not taken it back
	ended    bool
	hungUp   bool
	signals  chan<- os.Signal // gets SIGTSTP; nil: that was ignored at the start
	heeds    bool             // signals was looked at
}

// Start starts the command. signals gets SIGTSTP from now on, unless it was ignored at the start: a ^Z that comes to us, and is to be
// passed on.
func Start(c Command, signals chan<- os.Signal) (*Job, error) {
	j := &Job{changes: make(chan syscall.WaitStatus, 16), terminal: openTerminal(), signals: signals}
	attributes := processAttributes()
	if j.terminal != nil {
		j.share(attributes)
		j.heedStops() // a ^Z that comes from now on is for the command too
	}
	started := make(chan error)
	go j.live(c, attributes, started)
	if err := <-started; err != nil {
		j.terminal.close()
		return nil, err
	}
	if j.terminal != nil {
		signal.Ignore(syscall.SIGTTOU) // see give
	} else {
		j.heedStops() // later, because it takes a while
	}
	return j, nil
}

// share decides how the command gets the terminal.
func (j *Job) share(attributes *syscall.SysProcAttr) {
	// Scripts have no job control: what they start in the background is in their own group, but has INT ignored.
	j.eager = !isPipe(0) && !isPipe(1) && !signal.Ignored(syscall.SIGINT)
	ignored := ignoredSignals()
	if ignored(syscall.SIGTTIN) && ignored(syscall.SIGTTOU) && j.terminal.isOurs() {
		// As in $(…): a command that wants the terminal is not stopped, but refused. So it must have it before it begins.
		j.eager, j.gave, attributes.Foreground, attributes.Ctty = true, true, true, int(j.terminal.file.Fd())
	}
	if !j.terminal.isOurs() && orphaned() {
		signal.Ignore(syscall.SIGTTIN) // it is refused what is typed, as it would be without us; else it would be stopped for ever
	}
}

// live is the life of the command, on a thread of its own.
func (j *Job) live(c Command, attributes *syscall.SysProcAttr, started chan<- error) {
	runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
	defer close(j.changes)
	// Not os.StartProcess: it would change the mode of the standard files, which are others' too.
	pid, err := syscall.ForkExec(c.Path, c.Args, &syscall.ProcAttr{Env: c.Env, Files: []uintptr{0, 1, 2}, Sys: attributes})
	if err != nil {
		if attributes.Foreground { // it was given before the command could not be run
			signal.Ignore(syscall.SIGTTOU)
			j.terminal.give(j.terminal.own)
		}
		started <- &StartError{c.Path, err}
		return
	}
	c.Started(pid)
	j.pid = pid
	if j.eager && j.terminal.isOurs() {
		// A command that was faster, and wanted the terminal in these microseconds, is stopped now: Stopped gives it then.
		j.give()
	}
	started <- nil
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil { // somebody else has waited for it: how it ended is not known
			status = syscall.WaitStatus(syscall.SIGKILL)
		}
		j.changes <- status
		if !status.Stopped() {
			break
		}
	}
	if !c.Leave {
		group.Await(pid, nil)
	}
}

// Group is the process group of the command.
func (j *Job) Group() int { return j.pid }

// Changes tells what happens to the command, that it stopped or ended, and is closed when the job is over.
func (j *Job) Changes() <-chan syscall.WaitStatus { return j.changes }

// Signal sends a signal to the whole group, and to the command if that has left it. What may not be signalled, because it runs as
// somebody else, is left out.
func (j *Job) Signal(s syscall.Signal) {
	group.Signal(j.pid, s)
	if its, err := syscall.Getpgid(j.pid); !j.ended && err == nil && its != j.pid {
		syscall.Kill(j.pid, s)
	}
}

// Ended takes the terminal back after the command has ended.
func (j *Job) Ended() {
	j.ended = true
	j.takeBack()
}

// takeBack takes the terminal back from the command, or from whomever that gave it to: a shell gives it to its jobs. It is left alone
// if whoever started us has taken it already.
func (j *Job) takeBack() {
	if j.gave && !j.terminal.isOurs() && !j.terminal.isOfAncestor() {
		j.terminal.give(j.terminal.own)
	}
	j.gave = false
}

// give gives the terminal to the command.
func (j *Job) give() {
	j.gave = true
	j.terminal.give(j.pid)
}

// Close lets go of the terminal's file.
func (j *Job) Close() { j.terminal.close() }

// HasTerminal reports whether the command has the terminal.
func (j *Job) HasTerminal() bool { return j.terminal.isOf(j.pid) }

// Stopped does what follows when the command was stopped by s: it returns at once, with the command going on, or after this program
// was stopped too and goes on itself. What must happen then, Continued does: SIGCONT tells. If it returns false the command waits for a
// terminal that another command of the same script has: it is to be called again in a while.
func (j *Job) Stopped(s syscall.Signal) (settled bool) {
	asks := s == syscall.SIGTTIN || s == syscall.SIGTTOU
	if command, err := group.Look(j.pid); err == nil && !command.Stopped {
		return true // somebody has continued it meanwhile, and perhaps us
	}
	switch {
	case asks && (j.terminal.isOurs() || j.terminal.isOf(j.pid)): // it may have asked a moment before it got it
		j.eager = true
		j.give()
		j.Signal(syscall.SIGCONT)
		return true
	case asks && !j.hungUp && orphaned():
		j.hungUp = true
		j.Signal(syscall.SIGHUP) // as the kernel does to stopped groups that nobody can continue any more
		j.Signal(syscall.SIGCONT)
		return true
	case s == syscall.SIGTSTP && orphaned():
		j.Signal(syscall.SIGCONT)
		return true
	}
	if asks && InScript() && !j.terminal.isOfAncestor() && !orphaned() {
		return false
	}
	typed := s == syscall.SIGTSTP && j.terminal.isOf(j.pid)
	j.takeBack()
	if typed || asks && InScript() {
		stopOthers(s)
	}
	stopNow()
	j.heedStops()
	return true
}

// stopOthers stops the rest of our group, by the signal that it would have got if the command were in it.
func stopOthers(s syscall.Signal) {
	signal.Ignore(s) // we stop in a better way, and must not find it later
	syscall.Kill(0, s)
}

// heedStops takes SIGTSTP, unless it was ignored when we started.
func (j *Job) heedStops() {
	if !j.heeds {
		j.heeds = true
		if ignoredSignals()(syscall.SIGTSTP) {
			j.signals = nil
		}
	}
	if j.signals != nil {
		signal.Notify(j.signals, syscall.SIGTSTP)
	}
}

// Continued goes on with the command after this program was continued.
func (j *Job) Continued() {
	if j.eager && j.terminal.isOurs() {
		j.give()
	}
	j.Signal(syscall.SIGCONT)
}

// A StartError says why a command could not be started.
type StartError struct {
	Path string
	Err  error
}

func (e *StartError) Error() string {
	switch {
	case errors.Is(e.Err, syscall.ENOEXEC):
		return fmt.Sprintf("%s: it is no program of this machine, and no script with a #! line; run it by its interpreter, or by sh", e.Path)
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("%s: permission denied; is it executable?", e.Path)
	}
	return fmt.Sprintf("%s: %v", e.Path, e.Err)
}

// Unwrap returns the system's error.
func (e *StartError) Unwrap() error { return e.Err }
