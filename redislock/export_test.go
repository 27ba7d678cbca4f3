package redislock

import "time"

// What the tests of the package look at from outside, beyond what it exports.
const (
	Version = version
	Library = "holdfast_" + version
)

// Code is that of the whole library: guard.lua and engine.lua.
var Code = engine.Code

// A Packed is a request as the engine keeps it.
type Packed struct {
	Mode              string // e, s, p
	N, Limit, Reserve int
	TTL, Claim, Keep  time.Duration
	Life              time.Duration // of a place in the queue that is not asked for
	Channel, ID       string
	Label             string
}

func (r Packed) String() string {
	p := pack(nil).text(r.Mode).number(int64(r.N)).number(int64(r.Limit)).span(r.TTL).span(r.Claim).span(r.Keep).number(int64(r.Reserve))
	return string(p.span(r.Life).text(r.Channel).text(r.ID).text(r.Label).no())
}

// Left is what the client remembers of lines, relays, and holds that were passed on without the server's knowing.
func (s *Store) Left() (lines, relays, passed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.relays {
		if len(r.ended) > 0 {
			passed++
		}
	}
	return len(s.lines), len(s.relays), passed
}

// HoldBack makes newcomers hold back for so long, so that a test can be sure that they do.
func (s *Store) HoldBack(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holdsBack = func(time.Duration) time.Duration { return d }
}

// RideFor lets those who share a place wait for so long before they ask: a test can then tell those who were forgotten.
func (s *Store) RideFor(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ridesFor = d
}
