package servers_test

import (
	"context"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
)

// patience is for what must happen: nobody waits for it but a test that fails.
func patience(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// start starts a Redis that ends with the test.
func start(t *testing.T, options ...servers.RedisOption) *servers.Redis {
	t.Helper()
	r, err := servers.StartRedis(patience(t), options...)
	servers.Need(t, err)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return r
}

// do runs a command that must succeed.
func do(t *testing.T, r *servers.Redis, args ...string) any {
	t.Helper()
	answer, err := r.Do(patience(t), args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return answer
}

// answers checks what a command answers.
func answers(t *testing.T, r *servers.Redis, want any, args ...string) {
	t.Helper()
	if got := do(t, r, args...); got != want {
		t.Errorf("%q answers %#v, want %#v", args, got, want)
	}
}
