package driver

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"sync/atomic"
)

// An Attempt is the secret id of one attempt to get a lock. Whoever knows it can release the hold, so it appears in no log, error
// or listing: printing it in any way shows a placeholder. Only Reveal, for the wire, shows it. Attempts are comparable, within
// one process.
//
// Where fmt cannot ask its methods (an unexported field of somebody else's struct, a verb that fmt refuses) and where a debugging
// tool looks inside, only bytes that mean nothing can be seen: in memory the id is masked.
type Attempt struct {
	client masked
	n      uint64
}

const hidden = "[secret]"

// masked is a client's random part of its ids, combined with mask.
type masked [16]byte

// mask is random, and different in every process.
var mask = func() (m masked) {
	rand.Read(m[:]) // never fails: crypto/rand ends the program instead
	return m
}()

// flip masks and unmasks.
func (m masked) flip() [16]byte {
	for i := range m {
		m[i] ^= mask[i]
	}
	return m
}

// Reveal returns the id for the wire: 48 lower-case hexadecimal digits. Never print it.
func (a Attempt) Reveal() string {
	var raw [24]byte
	if a != (Attempt{}) { // the zero Attempt is no id, and no way to see the mask
		client := a.client.flip()
		copy(raw[:], client[:])
	}
	binary.BigEndian.PutUint64(raw[16:], a.n)
	var text [48]byte
	hex.Encode(text[:], raw[:])
	return string(text[:])
}

// ParseAttempt reads what Reveal wrote.
func ParseAttempt(s string) (Attempt, error) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != 24 {
		return Attempt{}, requestError("not an attempt id")
	}
	if [24]byte(raw) == [24]byte{} {
		return Attempt{}, nil
	}
	return Attempt{client: masked(raw[:16]).flip(), n: binary.BigEndian.Uint64(raw[16:])}, nil
}

func (a Attempt) String() string { return hidden }

// Format prints a placeholder, whatever the verb.
func (a Attempt) Format(f fmt.State, _ rune) { io.WriteString(f, hidden) }

// MarshalText writes a placeholder.
func (a Attempt) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Attempts makes ids that nobody can guess and that never repeat: 128 random bits for each client, and a counter.
type Attempts struct {
	client masked
	n      atomic.Uint64
}

// NewAttempts returns a source of ids of its own.
func NewAttempts() *Attempts {
	a := new(Attempts)
	rand.Read(a.client[:]) // as random as its masked form would be
	return a
}

// Next returns an id that was never returned before.
func (a *Attempts) Next() Attempt { return Attempt{client: a.client, n: a.n.Add(1)} }
