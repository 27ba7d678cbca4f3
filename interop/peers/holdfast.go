package peers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast.dev"
	"holdfast.dev/interop/internal/line"
	_ "holdfast.dev/redislock/redlock" // the scheme redlock
)

// Holdfast is our own, in a process of its own.
var Holdfast = Peer{Name: "holdfast", open: openHoldfast}

// URL is how ours is opened on these nodes. Servers that have just started would grant nothing for the time of their guard, which here
// nobody needs: no server loses its memory. Nor does one hang, but the machine may be busy: so nodes have a second to answer.
func URL(nodes ...string) string {
	return "redlock://" + strings.Join(nodes, ",") + "?guard=0&node-timeout=1s"
}

type holdfastLocks struct {
	client *holdfast.Client
	held   map[string]*holdfast.Hold
}

func openHoldfast(ctx context.Context, nodes []string) (line.Locks, error) {
	client, err := holdfast.Open(ctx, URL(nodes...))
	if err != nil {
		return nil, err
	}
	return &holdfastLocks{client, make(map[string]*holdfast.Hold)}, nil
}

func (l *holdfastLocks) Lock(ctx context.Context, name string, ttl, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	hold, err := l.client.Mutex(name, holdfast.TTL(ttl)).Lock(ctx)
	return l.keep(name, hold, err)
}

func (l *holdfastLocks) Try(ctx context.Context, name string, ttl time.Duration) error {
	hold, err := l.client.Mutex(name, holdfast.TTL(ttl)).TryLock(ctx)
	return l.keep(name, hold, err)
}

// keep remembers a hold.
func (l *holdfastLocks) keep(name string, hold *holdfast.Hold, err error) error {
	switch {
	case err == nil:
		l.held[name] = hold
	case errors.Is(err, holdfast.ErrHeld):
		return line.ErrHeld
	}
	return err
}

func (l *holdfastLocks) Extend(ctx context.Context, name string, ttl time.Duration) error {
	hold := l.held[name]
	if hold == nil {
		return fmt.Errorf("%q was not locked", name)
	}
	return holdfastGone(hold.Extend(ctx, ttl))
}

func (l *holdfastLocks) Unlock(_ context.Context, name string) error {
	hold := l.held[name]
	if hold == nil {
		return fmt.Errorf("%q was not locked", name)
	}
	delete(l.held, name)
	return holdfastGone(hold.Unlock())
}

func holdfastGone(err error) error {
	if errors.Is(err, holdfast.ErrLost) {
		return line.ErrGone
	}
	return err
}
