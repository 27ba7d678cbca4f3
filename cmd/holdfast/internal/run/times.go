package run

import (
	"cmp"
	"time"

	"holdfast.dev"
)

// defaultGrace is how long before the end of its hold a command is told to end, if nobody says and the TTL is long enough.
const defaultGrace = 5 * time.Second

// How long before the end of its hold a command is killed, at most; and how long it has after a loss that nobody foresaw.
const (
	longestLead   = 500 * time.Millisecond
	suddenlyGrace = time.Second
)

// ttl is the TTL to ask for. A grace is at most half of it, so a long one asks for more than the default.
func (p *Plan) ttl() time.Duration {
	if p.TTL > 0 {
		return p.TTL
	}
	return max(cmp.Or(p.StoreTTL, holdfast.DefaultTTL), 2*p.Grace)
}

func (p *Plan) grace() time.Duration {
	if p.Grace > 0 {
		return p.Grace
	}
	grace := min(defaultGrace, p.ttl()/2)
	if p.MaxHold > 0 {
		grace = min(grace, p.MaxHold/2)
	}
	return grace
}

// lead is how long before the end of the hold KILL is sent, by us or by the guard: on a busy machine it takes a while. granted is how
// long the hold was good at first: a store may give less than was asked for, and renewals must come well before.
func (p *Plan) lead(granted time.Duration) time.Duration {
	return min(longestLead, p.grace()/2, granted/4)
}

// patience is how long a command has between TERM and KILL, when so much of its hold is left.
func (p *Plan) patience(left, lead time.Duration) time.Duration {
	if left <= 0 {
		return min(p.grace(), suddenlyGrace)
	}
	return max(0, min(p.grace(), left-lead))
}

func (p *Plan) options() []holdfast.Option {
	opts := []holdfast.Option{holdfast.TTL(p.ttl()), holdfast.Grace(p.grace()), holdfast.Label(p.Label)}
	if p.MaxHold > 0 {
		opts = append(opts, holdfast.MaxHold(p.MaxHold))
	}
	if p.MinHold > 0 {
		opts = append(opts, holdfast.MinHold(p.MinHold))
	}
	return opts
}
