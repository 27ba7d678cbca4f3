package redislock_test

import (
	"testing"
	"time"
)

// Each time that the library is flushed its memory is gone, and tokens begin anew from what is written down. They stay near the clock, so
// that a restart without persistence, which can go by nothing but the clock and the guard, does not let them fall.
func TestTokensAfterFlushes(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	s := dial(t, server.Addr(), "guard=2s")
	var last uint64
	pass := func() {
		t.Helper()
		r := ask("lock", "holder", time.Second)
		token := insist(t, s, r).Token
		release(t, s, r)
		if token <= last {
			t.Errorf("token %d after %d", token, last)
		}
		last = token
	}
	pass()
	for range 10 {
		command(t, server, "FUNCTION", "FLUSH")
		pass()
	}
	restarts(t, server)
	pass()
}
