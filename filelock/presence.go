package filelock

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Names in a client's directory, DIR/clients/ID.
const (
	aliveName  = "alive"
	bellName   = "bell"
	claimsName = "claims"
)

// A presence is how the others see that a client is there, and how they wake it. Only its owner ever opens alive for writing, or
// has its flock; the kernel ends that with the process, kill −9 included, unless the owner has given copies of it away (Files).
//
// A client's id is a random number, never used again, and the inode of its file alive: so nobody takes a file for it that somebody
// has put in its place. While a client lives it has alive open, so no other file can get that inode.
type presence struct {
	alive *os.File
	bell  *os.File // nil: this client polls
	*claims
}

const noInode = "0000000000000000"

// halfMade begins the name of the directory of a client that is being made. Under the record's flock, whoever sees one knows that
// its maker has died.
const halfMade = "new-"

// appear makes the directory of a new client. Whoever calls it has the record's flock: a sweep does not see it half made.
func (d *directory) appear(pipes, bell bool) (id string, p *presence, err error) {
	var random [8]byte
	rand.Read(random[:])
	id = hex.EncodeToString(random[:])
	dir := halfMade + id
	if !inodesShow { // then it needs no other name later, which it could not get while files in it are open
		dir = id + noInode
	}
	if err := os.Mkdir(d.clientPath(dir), 0o700); err != nil {
		return "", nil, refused(d.clientPath(dir), advise(err))
	}
	p = new(presence)
	if pipes {
		err = p.openPipes(d.clientPath(dir), bell)
	}
	if p.alive == nil && err == nil {
		err = p.openFile(d.clientPath(dir, aliveName))
	}
	if err == nil {
		p.claims, err = makeClaims(d.clientPath(dir, claimsName))
	}
	var info os.FileInfo
	if err == nil {
		info, err = p.alive.Stat()
	}
	if err == nil {
		id += fmt.Sprintf("%016x", inode(info))
		if inodesShow {
			err = os.Rename(d.clientPath(dir), d.clientPath(id))
		}
		p.claims.path = d.clientPath(id, claimsName)
	}
	if err != nil {
		p.end()
		d.disappear(dir)
		return "", nil, refused(d.clientPath(dir), advise(err))
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
	for _, name := range []string{makingName, bellName, claimsName, aliveName} { // alive last: without it nobody could tell that it is dead
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

// scarce reports whether something could not be opened because too much is open already: that says nothing about the file.
func scarce(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// A life is what can be seen of a client from outside.
type life byte

const (
	alive life = iota + 1
	dead       // for ever: it is closed, or its process has ended
	odd        // its file alive is not the one that it made, or cannot be looked at: it may be alive, or not
)

// probe looks whether a client is alive. If it is odd the error says why.
func (st *Store) probe(id string) (life, error) {
	if id == st.id {
		return alive, nil
	}
	path := st.dir.clientPath(id, aliveName)
	f, err := openNoFollow(path, os.O_RDONLY, 0)
	if scarce(err) {
		return 0, err
	}
	if err != nil {
		return odd, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return odd, err
	}
	if fmt.Sprintf("%016x", inode(info)) != id[len(id)-16:] {
		return odd, fmt.Errorf("%s was replaced", path)
	}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		return probePipe(f)
	}
	free, err := flock(f, false, false)
	switch {
	case err != nil:
		return odd, err
	case free:
		return dead, nil
	}
	return alive, nil
}
