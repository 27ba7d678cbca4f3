package filelock

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Names in a client's directory, DIR/clients/ID.
const (
	aliveName  = "alive"
	bellName   = "bell"
	claimsName = "claims"
)

// A presence is how the others see that a client is there, and how they wake it. Only its owner ever opens alive for writing, or
// has its flock; the kernel ends that with the process, kill −9 included. The id is random, and never used again.
type presence struct {
	alive *os.File
	bell  *os.File // nil: this client polls
	*claims
}

// appear makes the directory of a new client. Whoever calls it has the record's flock: a sweep does not see it half made.
func (d *directory) appear(pipes bool) (id string, p *presence, err error) {
	var random [16]byte
	rand.Read(random[:])
	id = hex.EncodeToString(random[:])
	if err := os.Mkdir(d.clientPath(id), 0o700); err != nil {
		return "", nil, refused(d.clientPath(id), bare(err))
	}
	p = new(presence)
	if pipes {
		err = p.openPipes(d.clientPath(id))
	}
	if p.alive == nil && err == nil {
		err = p.openFile(d.clientPath(id, aliveName))
	}
	if err == nil {
		p.claims, err = makeClaims(d.clientPath(id, claimsName))
	}
	if err != nil {
		p.end()
		d.disappear(id)
		return "", nil, refused(d.clientPath(id), err)
	}
	return id, p, nil
}

// openFile makes alive a regular file that its owner keeps locked.
func (p *presence) openFile(path string) error {
	f, err := openNoFollow(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	p.alive = f
	got, err := flock(f, true, false)
	if err == nil && !got {
		err = errors.New("somebody else has locked a file that was just made")
	}
	return err
}

// end tells the others that this client is no more.
func (p *presence) end() {
	for _, f := range []*os.File{p.alive, p.bell} {
		if f != nil {
			f.Close()
		}
	}
	if p.claims != nil {
		p.claims.file.Close()
	}
}

// disappear removes the directory of a client that has no entry left anywhere.
func (d *directory) disappear(id string) error {
	for _, name := range []string{bellName, claimsName, aliveName} { // alive last: without it nobody could tell that it is dead
		if err := os.Remove(d.clientPath(id, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Remove(d.clientPath(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// clientIDs lists the clients, alive or not. What is not named like one is not ours, and left alone.
func (st *Store) clientIDs() ([]string, error) {
	entries, err := os.ReadDir(st.dir.clients.Name())
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && isID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// A life is what can be seen of a client from outside.
type life byte

const (
	alive   life = iota + 1
	dead         // for ever: it is closed, or its process has ended
	missing      // somebody has removed its directory: it may be alive, or not
)

// probe looks whether a client is alive.
func (st *Store) probe(id string) (life, error) {
	if id == st.id {
		return alive, nil
	}
	path := st.dir.clientPath(id, aliveName)
	f, err := openNoFollow(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return missing, nil
	}
	if err != nil {
		return 0, fmt.Errorf("whether its client lives cannot be seen: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if err := checkOurs(info); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		return probePipe(f)
	}
	free, err := flock(f, false, false)
	switch {
	case err != nil:
		return 0, err
	case free:
		return dead, nil
	}
	return alive, nil
}
