//go:build unix

package run

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/job"
)

// Signals that are passed on to the command: those that end a wait, and others that would end us. WINCH is, too.
var (
	ending = []os.Signal{syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM}
	deadly = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2}
)

// signals are those that have come and were not dealt with yet.
type signals struct {
	came   chan os.Signal
	others chan os.Signal // apart, because there may be many of them, and those above must not be lost
	heard  chan struct{}  // closed when those that end a wait come
	ready  chan struct{}  // closed when all come that would end us
}

// listen begins to take signals, those that end a wait first. Those that were ignored when the program started (nohup, a background job of a
// shell without job control) stay ignored, here and in the command, which inherits that.
//
// It takes a while, and returns before: until then a signal ends the program, which is right for as long as nothing is held.
func listen() *signals {
	s := &signals{make(chan os.Signal, 64), make(chan os.Signal, 16), make(chan struct{}), make(chan struct{})}
	if signal.Ignored(syscall.SIGINT) {
		// Go's runtime lets nobody know whether QUIT was. Shells ignore both or none.
		signal.Ignore(syscall.SIGQUIT)
	} else {
		signal.Notify(s.came, syscall.SIGQUIT) // not beside the rest: without us it prints a page for programmers
	}
	go func() {
		for _, each := range ending {
			if !signal.Ignored(each) {
				signal.Notify(s.came, each)
			}
		}
		close(s.heard)
		signal.Notify(s.others, deadly...)
		close(s.ready)
	}()
	return s
}

// listenForAll takes the rest, which ends nobody who does not listen: so the command need not wait for it.
func (s *signals) listenForAll() {
	signal.Notify(s.others, syscall.SIGWINCH)
	signal.Notify(s.came, syscall.SIGCONT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a message that nobody reads must not end us
}

// An interruption is a signal that ended a wait.
type interruption struct{ signal syscall.Signal }

func (i *interruption) Error() string { return fmt.Sprintf("ended by %v", i.signal) }

// untilEnded returns a context that ends with the first signal that ends a wait, or after so long, if that is not 0. A second signal
// ends the program at once. end gives the signals back, and returns the one that came.
func (s *signals) untilEnded(limit time.Duration) (ctx context.Context, end func() *interruption) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := func() {}
	if limit > 0 {
		ctx, stop = context.WithTimeout(ctx, limit)
	}
	enough, finished := make(chan struct{}), make(chan struct{})
	var first *interruption
	go func() {
		defer close(finished)
		for {
			select {
			case came := <-s.came:
				by := &interruption{came.(syscall.Signal)}
				switch {
				case !slices.Contains(ending, came):
				case first != nil:
					os.Exit(exit.Signal(int(by.signal)))
				default:
					first = by
					cancel(by)
				}
			case <-enough:
				return
			}
		}
	}()
	return ctx, func() *interruption {
		close(enough)
		<-finished
		stop()
		cancel(nil)
		return first
	}
}

// dieOf ends this program by a signal. A shell leaves its loop or its script after ^C only if it saw us end by it; and a script's must
// have got it too: if the command had the terminal, the rest of our group has not yet, and gets it now.
func dieOf(s syscall.Signal, hadIt bool) {
	signal.Reset(s)
	if !hadIt && job.InScript() {
		syscall.Kill(0, s)
	} else {
		syscall.Kill(os.Getpid(), s)
	}
	time.Sleep(time.Second) // it is on its way; otherwise the code says it
}

// underShell reports whether whoever started us is in our session, as shells and scripts on a terminal are. Others compare codes.
func underShell() bool {
	its, err := unix.Getsid(syscall.Getppid())
	own, _ := unix.Getsid(0)
	return err == nil && its == own
}
