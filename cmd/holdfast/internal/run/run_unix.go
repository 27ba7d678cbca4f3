//go:build unix

package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/job"
	"holdfast.dev/cmd/holdfast/internal/waiting"
)

// Run does what the plan says, and returns the code to end with.
func (p *Plan) Run() int {
	path, code, err := find(p.Command[0])
	if err != nil {
		p.Voice.Printf("%v", err)
		return code
	}
	s := &supervisor{plan: p, path: path, signals: listen()}
	rand.Read(s.id[:])
	s.sentry = postSentry(runsWith(s.id))
	s.news = newNews(p.display(), s.sentry.dismiss)
	if s.client, s.hold, err = p.get(s.signals, s.news); err != nil {
		s.sentry.dismiss()
		return p.refused(err)
	}
	code = s.run()
	if err := s.client.Close(); err != nil {
		p.Voice.Printf("%v", err)
	}
	s.guard.End()
	if s.lost == nil && s.interrupted {
		dieOf(syscall.SIGINT, s.passedINT)
	}
	return code
}

func (p *Plan) display() *waiting.Display { return waiting.New(p.Voice, p.Verbose) }

// complain prints a message that is worth reading but changes nothing.
func (p *Plan) complain(format string, args ...any) {
	if !p.Quiet {
		p.Voice.Printf(format, args...)
	}
}

// refused tells why the lock was not got, and returns the code for it.
func (p *Plan) refused(err error) int {
	var by *interruption
	if errors.As(err, &by) {
		if by.signal == syscall.SIGINT && job.InForeground() && underShell() {
			dieOf(syscall.SIGINT, true)
		}
		return exit.Signal(int(by.signal))
	}
	code, text := exit.Code(err), p.words(err)
	if code == exit.NotGot {
		p.complain("%s", text) // the code says it too, and it is no fault
		return p.NotGot
	}
	p.Voice.Printf("%s", text)
	return code
}

// words are an error's, but for those that only programs understand: that the time is over -w knows.
func (p *Plan) words(err error) string {
	text := strings.TrimPrefix(strings.TrimSuffix(err.Error(), ": "+context.DeadlineExceeded.Error()), "holdfast: ")
	if errors.Is(err, context.DeadlineExceeded) && p.Wait > 0 {
		text += fmt.Sprintf("; %v was not long enough", p.Wait)
	}
	return text
}

// get opens the store and waits for the lock. Both have the same time.
func (p *Plan) get(signals *signals, news *news) (*holdfast.Client, *holdfast.Hold, error) {
	defer news.display.Done()
	ctx, end := signals.untilEnded(p.bound())
	client, err := p.open(ctx, news)
	var hold *holdfast.Hold
	if err == nil {
		<-signals.heard
		hold, err = p.lock(ctx, client)
	}
	by := end()
	if by != nil && err == nil { // it came with the grant
		hold.Undo()
	}
	if by != nil {
		err = by
	}
	if err != nil && client != nil {
		client.Close()
	}
	return client, hold, err
}

// tryFor bounds how long a store that does not answer is waited for with -n.
const tryFor = 10 * time.Second

func (p *Plan) bound() time.Duration {
	if p.NoWait {
		return tryFor
	}
	return p.Wait
}

func (p *Plan) lock(ctx context.Context, client *holdfast.Client) (*holdfast.Hold, error) {
	if err := p.refuseNested(ctx, client); err != nil {
		return nil, err
	}
	locker := p.locker(client)
	if p.NoWait {
		return locker.TryLock(ctx)
	}
	return locker.Lock(ctx)
}

// locker is what to lock: each name once, in the order in which they were given.
func (p *Plan) locker(client *holdfast.Client) holdfast.Locker {
	opts := p.options()
	var lockers []holdfast.Locker
	for _, name := range p.names() {
		switch {
		case p.Limit > 0:
			lockers = append(lockers, client.Semaphore(name, p.Limit, opts...).Permits(1))
		case p.Shared:
			lockers = append(lockers, client.RWMutex(name, opts...).Reader())
		default:
			lockers = append(lockers, client.Mutex(name, opts...))
		}
	}
	if len(lockers) == 1 {
		return lockers[0]
	}
	return holdfast.Multi(lockers...)
}
