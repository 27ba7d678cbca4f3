package filelock

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// A client's claims are what protects a lock whose file somebody removes by hand while it is held: the file DIR/clients/ID/claims
// lists the locks in whose files this client has entries. Whoever makes a lock's file anew looks there first.
//
//	0   "holdfast pid 4711", padded with zeros to 32 bytes
//	32  32 bytes for each lock: kind, and a hash of its key; zeros: free
//
// A claim to an entry (w) is written before that entry, and removed after it, under the lock's guard: so there may be one too many if
// the client is killed, which does no harm, but never one too few. A claim to hold (h) is written after the entry that holds, and
// before anybody is told of it; it is gone before that entry is. So one without an entry is of a client that is dead, or of a lock whose
// file was removed by hand.
type claims struct {
	file *os.File
	path string

	mu   sync.Mutex
	free []int // slots
	used int   // slots that were ever used
}

// Kinds of claims, and none.
const (
	claimNone byte = 0
	claimWait byte = 'w' // has an entry, and has told nobody of a hold
	claimHold byte = 'h' // holds, or is about to tell its caller so: nobody else may
)

const (
	claimLen   = 32
	claimSpace = 128     // slots that are allocated at the beginning
	maxClaims  = 1 << 28 // bytes: nobody holds so many
)

// A keySum is a lock's key in a claim and, by its first bytes, in a bell.
type keySum [claimLen]byte

func sumOf(key string) keySum { return sha256.Sum256([]byte(key)) }

// slot is how a claim of that kind is written.
func (k keySum) slot(kind byte) []byte {
	if kind == claimNone {
		return make([]byte, claimLen)
	}
	k[0] = kind
	return k[:]
}

func makeClaims(path string) (*claims, error) {
	f, err := openNoFollow(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	page := make([]byte, claimLen*(claimSpace+1))
	copy(page, fmt.Sprintf("holdfast pid %d", os.Getpid()))
	if _, err := f.WriteAt(page, 0); err != nil {
		f.Close()
		return nil, err
	}
	return &claims{file: f, path: path}, nil
}

// set writes a claim into a slot; 0: a new one. It returns the slot, or 0 if there is none any more.
func (c *claims) set(slot int, sum keySum, kind byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := slot
	if taken == 0 {
		if n := len(c.free); n > 0 {
			taken = c.free[n-1]
		} else {
			taken = c.used + 1
		}
	}
	if _, err := c.file.WriteAt(sum.slot(kind), int64(taken)*claimLen); err != nil {
		return slot, fmt.Errorf("%s: %w", c.path, advise(err))
	}
	switch {
	case slot == 0 && taken > c.used:
		c.used = taken
	case slot == 0:
		c.free = c.free[:len(c.free)-1]
	case kind == claimNone:
		c.free = append(c.free, slot)
		return 0, nil
	}
	return taken, nil
}

// A claimant is another client with a claim on a lock.
type claimant struct {
	id   string
	kind byte
	who  string // for people
}

// claimants returns the other clients with a claim on that lock, alive or not.
func (st *Store) claimants(sum keySum) ([]claimant, error) {
	ids, err := st.clientIDs()
	if err != nil {
		return nil, err
	}
	var found []claimant
	for _, id := range ids {
		if id == st.id {
			continue
		}
		c, err := st.claimOf(id, sum)
		if err != nil {
			return nil, err
		}
		if c.kind != claimNone {
			found = append(found, c)
		}
	}
	return found, nil
}

// claimOf is the claim of one client on that lock. One without a file of claims has none: it has just closed, or was cleared away.
func (st *Store) claimOf(id string, sum keySum) (claimant, error) {
	text, err := readClaims(st.dir.clientPath(id, claimsName))
	if errors.Is(err, fs.ErrNotExist) {
		return claimant{id: id}, nil
	}
	if err != nil {
		return claimant{}, err
	}
	who := string(bytes.TrimRight(text[:min(claimLen, len(text))], "\x00"))
	return claimant{id, findClaim(text, sum), who}, nil
}

// holderAmong returns one of the claimants that holds, unless it is dead; nil: there is none.
//
// What a killed client leaves behind, its claims to hold too, is cleared away by whoever opens the directory, perhaps just now: since
// the claims were read. Then there is no file left that tells whether it lives. But its claims went first (see disappear): so
// whoever is not known to be dead is asked once more what it claims.
func (st *Store) holderAmong(others []claimant, sum keySum, probe func(id string) (life, error)) (*claimant, error) {
	for _, c := range others {
		if c.kind != claimHold {
			continue
		}
		life, err := probe(c.id)
		if life == dead {
			continue
		}
		if life != alive && life != odd {
			return nil, err
		}
		if c, err = st.claimOf(c.id, sum); err != nil {
			return nil, err
		}
		if c.kind == claimHold {
			return &c, nil
		}
	}
	return nil, nil
}

// readClaims reads a client's claims. What is not as we make it is refused: nobody can tell what its client holds.
func readClaims(path string) ([]byte, error) {
	f, err := openNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("what its client holds cannot be seen: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = checkFile(info)
	}
	if err != nil {
		return nil, fmt.Errorf("what its client holds cannot be seen: %s: %w", path, err)
	}
	return io.ReadAll(io.LimitReader(f, maxClaims))
}

func findClaim(text []byte, sum keySum) byte {
	for at := claimLen; at+claimLen <= len(text); at += claimLen {
		if slot := text[at : at+claimLen]; bytes.Equal(slot[1:], sum[1:]) {
			return slot[0]
		}
	}
	return claimNone
}
