package redislock

import (
	"context"
	_ "embed"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
)

//go:embed engine.lua
var code string

// The library's number is in its name and in the names of its functions. Whoever changes engine.lua or guard.lua raises it: then programs
// of both ages work beside each other. A test knows what each number stands for.
const version = "1"

var engine = guard.NewLibrary("holdfast_"+version, code)

const (
	functions = "holdfast_" + version + "_" // begins the name of each

	fnAcquire = functions + "acquire"
	fnRelease = functions + "release"
	fnRenew   = functions + "renew"
	fnBreak   = functions + "break"
	fnInspect = functions + "inspect"

	fnAcquires = functions + "acquires" // several
	fnReleases = functions + "releases" // several, of those that let go or renew
)

// How the functions answer: see engine.lua, and package guard for others.
const (
	saysGranted = "G"
	saysWaits   = "W"
	saysHeld    = "H"
	saysGone    = "N"
	saysUndone  = "T"
	saysBroken  = "B"
	saysLimit   = "L"
	saysOther   = "R"
	saysFull    = "F"
)

// callAt runs one of the engine's functions on a lock of the store that was opened as st.
func (s *Store) callAt(ctx context.Context, st *guard.Opened, function, key string, args ...string) (guard.Reply, error) {
	keys := [...]string{key, s.storeKey}
	with := s.combined(function)
	if with == nil {
		return s.guard.Call(ctx, st, function, keys[:], args, nil)
	}
	return s.guard.Call(ctx, st, function, keys[:], args, func(ctx context.Context, st *guard.Opened) (rueidis.RedisMessage, error) {
		return with.Do(ctx, function, key, st.ID, args)
	})
}

// combined is what calls of a function are sent with; nil: each goes by itself. What takes and what lets go are kept apart: see engine.lua.
func (s *Store) combined(function string) *guard.Combiner {
	switch function {
	case fnAcquire:
		return s.acquires
	case fnRelease, fnRenew:
		return s.releases
	}
	return nil
}

// letter names a function, and what it is called with, in a request of several.
func letter(function string, args int) string {
	switch {
	case function == fnAcquire:
		return "a"
	case function == fnRelease && args > 3:
		return "R"
	case function == fnRelease:
		return "r"
	case args > 2:
		return "N"
	}
	return "n" // renew
}

// readHolders reads who holds, from the i-th element on.
func readHolders(r guard.Reply, i int) []driver.Holder {
	var holders []driver.Holder
	for ; i < len(r.Rest); i++ {
		holders = append(holders, readHolder(r.Array(i)))
	}
	return holders
}

func readHolder(h guard.Reply) driver.Holder {
	holder := driver.Holder{
		Label: h.Text(0), Token: uint64(h.Number(1)), Mode: driver.Mode(h.Number(2)), N: int(h.Number(3)), Held: h.Span(4), Left: h.Span(5),
	}
	switch h.Text(6) {
	case "k":
		holder.Kept = true
	case "b", "v":
		holder.Broken = true
	}
	return holder
}

// A span is a duration, and what it is for the wire.
type span struct {
	d    time.Duration
	text string
}

// micros is guard.Micros; the last one is remembered, because it is nearly always the same.
func (s *Store) micros(d time.Duration) string {
	if last := s.lastSpan.Load(); last != nil && last.d == d {
		return last.text
	}
	text := guard.Micros(d)
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
