package run

import (
	"testing"
	"time"

	"holdfast.dev"
)

// How long a command has, for each way to ask for it. The KILL comes before the hold ends.
func TestTimes(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, c := range []struct {
		name             string
		plan             Plan
		ttl, grace, lead time.Duration
	}{
		{"nothing is said", Plan{}, 10 * s, 5 * s, 500 * ms},
		{"a short TTL", Plan{TTL: s}, s, 500 * ms, 250 * ms},
		{"the shortest TTL", Plan{TTL: 100 * ms}, 100 * ms, 50 * ms, 25 * ms},
		{"a long TTL", Plan{TTL: time.Hour}, time.Hour, 5 * s, 500 * ms},
		{"the store's TTL", Plan{StoreTTL: 4 * s}, 4 * s, 2 * s, 500 * ms},
		{"the store's TTL, and one of our own", Plan{StoreTTL: 4 * s, TTL: s}, s, 500 * ms, 250 * ms},
		{"the store's TTL, and a long grace", Plan{StoreTTL: 4 * s, Grace: 3 * s}, 6 * s, 3 * s, 500 * ms},
		{"a long grace", Plan{Grace: 30 * s}, 60 * s, 30 * s, 500 * ms},
		{"a short grace", Plan{Grace: 100 * ms}, 10 * s, 100 * ms, 50 * ms},
		{"a grace that is too long for its TTL is the library's to refuse", Plan{TTL: 3 * s, Grace: 2 * s}, 3 * s, 2 * s, 500 * ms},
		{"a short maximum", Plan{MaxHold: 2 * s}, 10 * s, s, 500 * ms},
		{"a long maximum", Plan{MaxHold: time.Hour}, 10 * s, 5 * s, 500 * ms},
	} {
		if got := c.plan.ttl(); got != c.ttl {
			t.Errorf("%s: TTL %v, want %v", c.name, got, c.ttl)
		}
		if got := c.plan.grace(); got != c.grace {
			t.Errorf("%s: grace %v, want %v", c.name, got, c.grace)
		}
		if got := c.plan.lead(c.ttl); got != c.lead {
			t.Errorf("%s: lead %v, want %v", c.name, got, c.lead)
		}
		if got := c.plan.lead(holdfast.Forever); got != c.lead {
			t.Errorf("%s: lead where nothing runs out %v, want %v", c.name, got, c.lead)
		}
		if got := c.plan.lead(40 * ms); got != 10*ms {
			t.Errorf("%s: lead of a hold that was granted for 40 ms %v, want 10 ms", c.name, got)
		}
	}
}

// From TERM to KILL.
func TestPatience(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, c := range []struct {
		name string
		plan Plan
		left time.Duration
		want time.Duration
	}{
		{"foreseen: 500 ms before the end", Plan{}, 5 * s, 4500 * ms},
		{"foreseen with a short TTL: half of its grace before the end", Plan{TTL: s}, 500 * ms, 250 * ms},
		{"broken, long before its end: as long as its grace", Plan{}, 9 * s, 5 * s},
		{"broken, where nothing runs out", Plan{}, holdfast.Forever, 5 * s},
		{"less is left than the lead", Plan{}, 300 * ms, 0},
		{"sudden", Plan{}, 0, s},
		{"sudden, with a short grace", Plan{Grace: 200 * ms}, 0, 200 * ms},
	} {
		if got := c.plan.patience(c.left, c.plan.lead(holdfast.Forever)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
