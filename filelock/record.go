package filelock

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	recordMagic  = "holdfast dir  1\n"
	countMagic   = "holdfast next 1\n"
	magicStem    = "holdfast "
	tokenBlock   = 64   // how many tokens a lock takes at a time
	tokenReserve = 4096 // how far ahead of them the durable ceiling is
	countBase    = 4096 // where the second box begins: in a block of its own
)

// A record is the file DIR/holdfast: it marks the directory as ours, and is where tokens come from. It has two boxes. The first is
// durable: it is written rarely, and synced each time, so that a power failure finds one of its two texts whole. The second is
// the next token; it is written often and never synced, and means nothing after a restart of the machine: then the ceiling counts.
//
// Its flock is held for a few microseconds, or while the directory is swept after a restart, and nobody who holds it waits for
// the guard of a lock that somebody else could hold: whoever holds such a guard may wait for the record.
type record struct {
	file *os.File
	path string

	identity string
	boot     string // the time of this machine that next is good for
	ceiling  uint64 // every token that was ever given is less
	next     uint64
	durable  box
	count    box
}

func newBox(f boxFile, base int64, magic string) box {
	var random [8]byte
	rand.Read(random[:])
	return box{file: f, base: base, magic: magic, born: binary.BigEndian.Uint64(random[:])}
}

// openRecord opens the record and takes its flock; whoever closes it lets go. A new one, that is not written yet, has no identity.
func openRecord(ctx context.Context, closed <-chan struct{}, dir string, create bool) (*record, error) {
	path := filepath.Join(dir, recordName)
	flag := os.O_RDWR
	if create {
		flag |= os.O_CREATE
	}
	f, err := openNoFollow(path, flag, 0o600)
	if err != nil {
		return nil, refused(path, recordProblem(err))
	}
	info, err := f.Stat()
	if err == nil {
		err = checkFile(info)
	}
	if err != nil {
		f.Close()
		return nil, refused(path, err)
	}
	if f, err = lockFile(ctx, closed, f, true); err != nil {
		return nil, err
	}
	r := &record{file: f, path: path, durable: newBox(f, 0, recordMagic), count: newBox(f, countBase, countMagic)}
	if err := r.read(); err != nil {
		f.Close()
		return nil, refused(path, err)
	}
	return r, nil
}

func recordProblem(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: let the directory and what is in it belong to the user whom this process runs as", bare(err))
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the directory was removed or replaced; open the store again", bare(err))
	}
	return advise(err)
}

// close lets go of the flock.
func (r *record) close() { r.file.Close() }

// read reads both boxes.
func (r *record) read() error {
	text, err := r.durable.read(true)
	if errors.Is(err, errBlank) {
		return nil
	}
	if err != nil {
		return r.explain(err)
	}
	fields := strings.Fields(string(text))
	if len(fields) != 3 || !isID(fields[0]) {
		return fmt.Errorf("%w: it cannot be read", errDamaged)
	}
	r.identity, r.boot = fields[0], undash(fields[1])
	if r.ceiling, err = strconv.ParseUint(fields[2], 10, 63); err != nil {
		return fmt.Errorf("%w: it has no tokens", errDamaged)
	}
	r.next = r.ceiling
	if text, err := r.count.read(false); err == nil && !r.count.torn { // else all below the ceiling are given up: that is always right
		boot, next, _ := strings.Cut(string(text), " ")
		if n, err := strconv.ParseUint(next, 10, 63); err == nil && undash(boot) == r.boot && r.boot != "" {
			r.next = min(n, r.ceiling)
		}
	}
	return nil
}

// explain says what a record that cannot be read may be.
func (r *record) explain(err error) error {
	head := make([]byte, len(recordMagic))
	if n, _ := r.file.ReadAt(head, 0); strings.HasPrefix(string(head[:n]), magicStem) && string(head[:n]) != recordMagic {
		return fmt.Errorf("it was written by another version of holdfast (%q): use that version, or another directory", strings.TrimSpace(string(head[:n])))
	}
	return fmt.Errorf("%w: this is not a holdfast directory, or its record was overwritten; name another directory, or empty this one when nobody uses it", err)
}

// begin writes the first text of a new record.
func (r *record) begin(boot string) error {
	var random [16]byte
	rand.Read(random[:])
	r.identity, r.ceiling, r.next = hex.EncodeToString(random[:]), 1, 1
	return r.restart(boot)
}

// restart makes the record one of this time of the machine. All tokens below the ceiling are given up.
func (r *record) restart(boot string) error {
	r.boot, r.next = boot, r.ceiling
	if boot == "" {
		return r.raise(r.next)
	}
	return r.raise(r.next + tokenReserve)
}

// raise moves the ceiling, durably.
func (r *record) raise(ceiling uint64) error {
	r.ceiling = ceiling
	text := fmt.Sprintf("%s %s %d\n", r.identity, dash(r.boot), r.ceiling)
	if err := r.durable.write([]byte(text)); err != nil {
		return err
	}
	if err := syncFile(r.file); err != nil {
		return err
	}
	return r.writeNext()
}

func (r *record) writeNext() error {
	return r.count.write([]byte(dash(r.boot) + " " + strconv.FormatUint(r.next, 10)))
}

// take gives away a block of tokens: from … end-1. Where nobody can tell a restart of the machine, each block is written durably.
func (r *record) take() (from, end uint64, err error) {
	from, end = r.next, r.next+tokenBlock
	r.next = end
	switch {
	case r.boot == "":
		err = r.raise(end)
	case end > r.ceiling:
		err = r.raise(end + tokenReserve)
	default:
		err = r.writeNext()
	}
	return from, end, err
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
