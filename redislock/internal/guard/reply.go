package guard

import (
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// Answers that mean the same in every library: see guard.lua. Call deals with the first two.
const (
	SaysReopened = "S"
	SaysUnproved = "P"
	SaysGuarded  = "U"
	SaysBound    = "X" // the TTL is longer than the guard: the store was set up anew with another
)

// saysFailed is one of several calls that failed; its text follows.
const saysFailed = "E"

// saysGranted is what a number alone means.
const saysGranted = "G"

// LeastNumber is the least that a function of ours answers by a number alone. No other library answers so by chance.
const LeastNumber = 1<<50 - 1

// A Reply is what a function answered.
type Reply struct {
	Says  string // the letter that it begins with; G for a number alone
	Alone int64  // a number alone; 0: it was an array
	Rest  []rueidis.RedisMessage
}

// ReadReply reads an answer: a number alone, or an array that begins with a letter. false: no function of ours answers so.
func ReadReply(m rueidis.RedisMessage) (Reply, bool) {
	if m.IsInt64() {
		n, err := m.AsInt64()
		return Reply{Says: saysGranted, Alone: n}, err == nil && n >= LeastNumber
	}
	all, err := m.ToArray()
	if err != nil || len(all) == 0 {
		return Reply{}, false
	}
	says, err := all[0].ToString()
	return Reply{Says: says, Rest: all[1:]}, err == nil
}

// Number returns the i-th element behind the letter, or 0.
func (r Reply) Number(i int) int64 {
	if i >= len(r.Rest) {
		return 0
	}
	n, _ := r.Rest[i].AsInt64()
	return n
}

// Text returns the i-th element as a text, or "".
func (r Reply) Text(i int) string {
	if i >= len(r.Rest) {
		return ""
	}
	text, _ := r.Rest[i].ToString()
	return text
}

// Span returns the i-th element as a duration.
func (r Reply) Span(i int) time.Duration { return time.Duration(r.Number(i)) * time.Microsecond }

// Array returns the elements of the i-th element, which is an array, as the Rest of a reply without a letter.
func (r Reply) Array(i int) Reply {
	if i >= len(r.Rest) {
		return Reply{}
	}
	all, _ := r.Rest[i].ToArray()
	return Reply{Rest: all}
}

// Micros is a duration for the wire.
func Micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
