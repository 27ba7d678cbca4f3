package redislock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"holdfast.dev"
)

// A room is entered under a lock, and sees who enters without it.
type room struct {
	inside  atomic.Int64
	token   atomic.Uint64 // the last one
	entered atomic.Int64
}

// enter locks, looks around, and unlocks.
func (r *room) enter(ctx context.Context, locks *holdfast.Client) error {
	hold, err := locks.Mutex("lock").Lock(ctx)
	if err != nil {
		return err
	}
	others := r.inside.Add(1) - 1
	before := r.token.Swap(hold.Token())
	r.inside.Add(-1)
	r.entered.Add(1)
	if err := hold.Unlock(); err != nil {
		return fmt.Errorf("unlocking: %w", err)
	}
	if others > 0 || before >= hold.Token() {
		return fmt.Errorf("%d others were inside; token %d after %d", others, hold.Token(), before)
	}
	return nil
}

// Many lock and unlock while the library is flushed and connections are killed, over and over. Nobody gets an error, nobody is inside
// beside another, tokens rise, and it goes on.
func TestTroublesWithoutEnd(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	clients := []*watched{watch(t, server.Addr(), "0"), watch(t, server.Addr(), "0")}
	var r room
	var enough atomic.Bool
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for !enough.Load() {
				if err := r.enter(t.Context(), clients[i%len(clients)].locks); err != nil {
					t.Error(err)
					enough.Store(true)
				}
			}
		})
	}
	for range 10 {
		for _, trouble := range [][]string{
			{"FUNCTION", "FLUSH"}, {"SCRIPT", "FLUSH"}, {"CLIENT", "KILL", "TYPE", "normal"}, {"CLIENT", "KILL", "TYPE", "pubsub"},
		} {
			goal := r.entered.Load() + 10
			command(t, server, trouble...)
			until(t, "somebody is served after "+trouble[0], func() bool { return r.entered.Load() >= goal || enough.Load() })
		}
	}
	enough.Store(true)
	group.Wait()
}
