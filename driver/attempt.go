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
// or listing: printing it in any way shows a placeholder. Only Reveal, for the wire, shows it. Attempts are comparable.
type Attempt struct {
	client [16]byte
	n      uint64
}

const hidden = "[secret]"

// Reveal returns the id for the wire: 48 lower-case hexadecimal digits. Never print it.
func (a Attempt) Reveal() string {
	var raw [24]byte
	copy(raw[:], a.client[:])
	binary.BigEndian.PutUint64(raw[16:], a.n)
	return hex.EncodeToString(raw[:])
}

// ParseAttempt reads what Reveal wrote.
func ParseAttempt(s string) (Attempt, error) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != 24 {
		return Attempt{}, requestError("not an attempt id")
	}
	return Attempt{client: [16]byte(raw[:16]), n: binary.BigEndian.Uint64(raw[16:])}, nil
}

func (a Attempt) String() string { return hidden }

// Format prints a placeholder, whatever the verb.
func (a Attempt) Format(f fmt.State, _ rune) { io.WriteString(f, hidden) }

// MarshalText writes a placeholder.
func (a Attempt) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Attempts makes ids that nobody can guess and that never repeat: 128 random bits for each client, and a counter.
type Attempts struct {
	client [16]byte
	n      atomic.Uint64
}

// NewAttempts returns a source of ids of its own.
func NewAttempts() *Attempts {
	a := new(Attempts)
	rand.Read(a.client[:]) // never fails: crypto/rand ends the program instead
	return a
}

// Next returns an id that was never returned before.
func (a *Attempts) Next() Attempt { return Attempt{client: a.client, n: a.n.Add(1)} }
