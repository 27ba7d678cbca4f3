package redislock

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/redisconn"
)

//go:embed engine.lua
var code string

// The library's number is in its name and in the names of its functions. Whoever changes engine.lua raises it, here and there: then
// programs of both ages work beside each other. A test knows what each number stands for.
const version = "1"

// format is that of the keys. Libraries of one format share the store.
const format = 1

var engine = redisconn.Library{Name: "holdfast_" + version, Code: code}

const (
	functions = "holdfast_" + version + "_" // begins the name of each

	fnFind    = functions + "find"
	fnOpen    = functions + "open"
	fnAcquire = functions + "acquire"
	fnRelease = functions + "release"
	fnRenew   = functions + "renew"
	fnBreak   = functions + "break"
	fnInspect = functions + "inspect"
	fnProve   = functions + "prove"
	fnNote    = functions + "note"

	fnAcquires = functions + "acquires" // several
	fnReleases = functions + "releases" // several, of those that let go or renew
)

// How the functions answer: see engine.lua.
const (
	saysGranted  = "G"
	saysWaits    = "W"
	saysHeld     = "H"
	saysGone     = "N"
	saysUndone   = "T"
	saysBroken   = "B"
	saysGuarded  = "U"
	saysLimit    = "L"
	saysOther    = "R"
	saysFull     = "F"
	saysReopened = "S"
	saysUnproved = "P"
	saysFailed   = "E"
	saysBound    = "X"
)

// released is the number that means that a hold was released; greater ones are tokens. No other library answers so by chance.
const released = 1<<50 - 1

// A reply is what a function answered.
type reply struct {
	says  string
	alone int64 // a number alone: the token, or released
	rest  []rueidis.RedisMessage
}

// callAt runs one of the engine's functions on a lock of the store that was opened as st. If the store was set up anew since, it opens it
// again, and repeats; and so it does if the server must first prove that it is still the primary.
func (s *Store) callAt(ctx context.Context, st *opened, function, key string, args ...string) (reply, error) {
	send := s.send
	for again := range 4 {
		message, err := send(ctx, newCommand(function, key, st.id, args))
		if err != nil {
			return reply{}, s.failure(err)
		}
		r, ok := readReply(message)
		switch {
		case !ok:
			return reply{}, s.strange(ctx, function)
		case r.says == saysUnproved && again < 3:
			send = func(ctx context.Context, cmd *command) (rueidis.RedisMessage, error) {
				return s.proveAndSend(ctx, st, cmd)
			}
			continue
		case r.says == saysUnproved:
			return reply{}, unproved(st)
		case r.says == saysReopened && again < 2:
			s.forget(*st)
			was := st.guard
			if st, err = s.opened(ctx); err != nil {
				return reply{}, err
			}
			if st.guard != was && function == fnAcquire {
				return reply{says: saysBound}, nil // it was asked for with a TTL of the old one's
			}
			send = s.send
			continue
		}
		s.served.Store(true)
		return r, nil
	}
	return reply{}, s.strange(ctx, function)
}

// send sends a call: by itself, or with others. What takes and what lets go are kept apart: see engine.lua.
func (s *Store) send(ctx context.Context, cmd *command) (rueidis.RedisMessage, error) {
	switch cmd.function {
	case fnAcquire:
		return s.acquires.do(ctx, cmd)
	case fnRelease, fnRenew:
		return s.releases.do(ctx, cmd)
	}
	defer cmd.free()
	return s.single(ctx, cmd)
}

// readReply reads an answer: a number alone, or an array that begins with a letter.
func readReply(m rueidis.RedisMessage) (reply, bool) {
	if m.IsInt64() {
		n, err := m.AsInt64()
		return reply{says: saysGranted, alone: n}, err == nil && n >= released
	}
	all, err := m.ToArray()
	if err != nil || len(all) == 0 {
		return reply{}, false
	}
	says, err := all[0].ToString()
	return reply{says: says, rest: all[1:]}, err == nil
}

// strange is an answer that the engine does not give: somebody has put something else in its place, or the connection is at fault.
func (s *Store) strange(ctx context.Context, function string) error {
	if err := engine.Load(ctx, s.client); err != nil {
		return s.failure(err)
	}
	return fmt.Errorf("function %s gave an answer that it never gives", function)
}

// number returns the i-th element behind the first, or 0.
func (r reply) number(i int) int64 {
	if i >= len(r.rest) {
		return 0
	}
	n, _ := r.rest[i].AsInt64()
	return n
}

func (r reply) text(i int) string {
	if i >= len(r.rest) {
		return ""
	}
	text, _ := r.rest[i].ToString()
	return text
}

// span returns the i-th element as a duration.
func (r reply) span(i int) time.Duration { return time.Duration(r.number(i)) * time.Microsecond }

// holders reads who holds, from the i-th element on.
func (r reply) holders(i int) []driver.Holder {
	var holders []driver.Holder
	for ; i < len(r.rest); i++ {
		holders = append(holders, readHolder(r.rest[i]))
	}
	return holders
}

func readHolder(m rueidis.RedisMessage) driver.Holder {
	fields, _ := m.ToArray()
	h := reply{rest: fields}
	holder := driver.Holder{
		Label: h.text(0), Token: uint64(h.number(1)), Mode: driver.Mode(h.number(2)), N: int(h.number(3)), Held: h.span(4), Left: h.span(5),
	}
	switch h.text(6) {
	case "k":
		holder.Kept = true
	case "b", "v":
		holder.Broken = true
	}
	return holder
}

// micros is a duration for the wire.
func micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }

// A span is a duration, and what it is for the wire.
type span struct {
	d    time.Duration
	text string
}

// micros is micros; the last one is remembered, because it is nearly always the same.
func (s *Store) micros(d time.Duration) string {
	if last := s.lastSpan.Load(); last != nil && last.d == d {
		return last.text
	}
	text := micros(d)
	s.lastSpan.Store(&span{d, text})
	return text
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func modeText(m driver.Mode) string {
	switch m {
	case driver.Shared:
		return "s"
	case driver.Permits:
		return "p"
	}
	return "e"
}

// idBase is how ids are written: short.
const idBase = 36

// A pack is a request in the form in which the engine keeps it: MessagePack values, one after the other. The engine only copies it
// where it takes a lock that is free.
type pack []byte

func (p pack) text(s string) pack {
	if len(s) < 32 {
		p = append(p, 0xa0|byte(len(s)))
	} else {
		s = s[:min(len(s), 1<<16-1)]
		p = append(p, 0xda, byte(len(s)>>8), byte(len(s)))
	}
	return append(p, s...)
}

// id appends the id of a request, as a text.
func (p pack) id(n uint64) pack {
	at := len(p)
	p = strconv.AppendUint(append(p, 0), n, idBase)
	p[at] = 0xa0 | byte(len(p)-at-1)
	return p
}

func (p pack) number(n int64) pack {
	if n >= 0 && n < 128 {
		return append(p, byte(n))
	}
	if n >= 0 && n < 1<<32 {
		return append(p, 0xce, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(p, 0xd3, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func (p pack) span(d time.Duration) pack { return p.number(d.Microseconds()) }

func (p pack) no() pack { return append(p, 0xc2) }
