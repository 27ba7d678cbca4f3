package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// sweepWait is how long a sweep waits for the guard of one lock.
const sweepWait = 200 * time.Millisecond

// A census is who was seen in a directory.
type census struct {
	living, odd int
	dead        []string // and those that were never made completely
	bare        []string // of the odd ones, those without files: they went, and were killed just then; or somebody has removed the files
}

// count tells the dead from the living. Whoever calls it has the record's flock, so none is being made.
func (st *Store) count() (c census, err error) {
	entries, err := os.ReadDir(st.dir.clients.Name())
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case !e.IsDir(): // not ours
		case strings.HasPrefix(name, halfMade):
			c.dead = append(c.dead, name)
		case isID(name):
			life, err := st.probe(name)
			switch {
			case life == alive:
				c.living++
			case life == dead:
				c.dead = append(c.dead, name)
			case life == odd: // it must not keep the others from their work
				c.odd++
				if st.isBare(name) {
					c.bare = append(c.bare, name)
				}
			default:
				return c, err
			}
		}
	}
	return c, nil
}

// isBare: a client that goes removes claims, then alive, then its directory. If just one of the files is missing, somebody else has
// removed it.
func (st *Store) isBare(id string) bool {
	for _, name := range []string{aliveName, claimsName} {
		if _, err := os.Lstat(st.dir.clientPath(id, name)); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// sweep takes the dead out of all locks, removes the files that nobody uses, and then what is left of the dead. A lock whose guard
// cannot be had is left as it is, and the dead with it: the next one does it. A bare client is nowhere taken out, since it may be
// alive; its directory goes only if every lock could be looked at and it has no entry in any.
func (st *Store) sweep(ctx context.Context, seen census) {
	if len(seen.dead)+len(seen.bare) == 0 {
		return
	}
	bare := make(map[string]bool)
	for _, id := range seen.bare {
		bare[id] = true
	}
	keys, err := st.keys()
	if err != nil {
		return
	}
	var skipped []string
	for _, key := range keys {
		waiting, cancel := context.WithTimeout(ctx, sweepWait)
		err := st.stray(key).change(waiting, tidying, func(t *tx) error {
			for _, client := range seen.dead {
				t.dirty = t.state.bury(client, t.at.now) || t.dirty
			}
			for _, client := range t.state.clients() {
				delete(bare, client)
			}
			t.unlink = true
			return nil
		})
		cancel()
		if err != nil && !errors.Is(err, errNoFile) {
			skipped = append(skipped, key)
		}
	}
	for _, id := range seen.dead {
		if !st.claimsAny(id, skipped) {
			st.dir.disappear(id)
		}
	}
	for id := range bare {
		if len(skipped) == 0 {
			st.dir.disappear(id)
		}
	}
}

// claimsAny reports whether a client may have entries in one of those locks.
func (st *Store) claimsAny(id string, keys []string) bool {
	if len(keys) == 0 {
		return false
	}
	text, err := readClaims(st.dir.clientPath(id, claimsName))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return slices.ContainsFunc(keys, func(key string) bool { return findClaim(text, sumOf(key)) != claimNone })
}

// stray is a lock of which only the file is known.
func (st *Store) stray(key string) *lock {
	lk := &lock{store: st, key: key, sum: sumOf(key), turn: make(chan struct{}, 1)}
	lk.turn <- struct{}{}
	return lk
}

// recover begins anew after a restart of the machine. Nobody is alive, and whoever comes now waits for the record's flock. Minimum
// holds that are not over by the wall clock stay; but none for longer than it was long, should that clock have been set.
func (st *Store) recover(r *record) error {
	keys, err := st.keys()
	if err != nil {
		return refused(st.dir.locks.Name(), err)
	}
	for _, key := range keys {
		if err := st.recoverLock(key); err != nil {
			return err
		}
	}
	ids, err := st.clientIDs()
	if err != nil {
		return refused(st.dir.clients.Name(), err)
	}
	for _, id := range ids {
		if err := st.dir.disappear(id); err != nil {
			return refused(st.dir.clientPath(id), err)
		}
	}
	if err := r.restart(st.boot); err != nil {
		return refused(r.path, advise(err))
	}
	return nil
}

// recoverLock keeps what must be kept of a lock's file, and removes it otherwise. A file that is not ours is left alone.
func (st *Store) recoverLock(key string) error {
	path := st.dir.lockPath(key)
	f, err := openIn(st.dir.locks, key, os.O_RDWR, 0)
	if err != nil {
		return refused(path, bare(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		_, err = st.checkMade(f, info)
	}
	if err != nil {
		return nil // whoever asks for that lock is told
	}
	b := newBox(f, 0, lockMagic)
	text, err := b.read(true)
	var s *state
	if err == nil {
		s, err = decodeState(string(text))
	}
	if err != nil {
		if !errors.Is(err, errBlank) && !looksOurs(f) {
			return nil
		}
		s = &state{} // it was written when the power failed, and never synced: so there is no minimum hold in it
	}
	if s.revive(st.now()) == 0 {
		return removeFile(path)
	}
	if err := b.write(s.encode(nil)); err != nil {
		return refused(path, bare(err))
	}
	if err := syncFile(f); err != nil {
		return refused(path, bare(err))
	}
	return nil
}

// revive leaves nothing in s but minimum holds that are not over, and returns how many. The tokens that were left are given up: this
// text may be older than tokens that were given, if it was the last one that reached the disk. The next ones come from above the
// ceiling.
func (s *state) revive(at moment) int {
	s.adopt(at, true)
	var left []*entry
	for _, h := range s.holders {
		if h.until == 0 || !at.now.before(h.until) {
			continue
		}
		h.phase, h.client, h.attempt, h.line = kept, "", "", ""
		left = append(left, h)
	}
	s.holders, s.queue, s.ghosts = left, nil, nil
	s.next, s.end = 0, 0
	return len(left)
}

// looksOurs reports whether a file that cannot be read was written by us once.
func looksOurs(f *os.File) bool {
	head := make([]byte, len(lockMagic))
	for _, at := range []int64{0, headerSpace} {
		if _, err := f.ReadAt(head, at); err == nil && string(head) == lockMagic {
			return true
		}
	}
	return false
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil {
		return refused(path, bare(err))
	}
	return nil
}

// checkUnused refuses a directory whose record is empty but that has something else in it: the record is written completely before
// anything else is made.
func (d *directory) checkUnused() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return refused(d.path, bare(err))
	}
	for _, e := range entries {
		if e.Name() != recordName {
			return refused(d.path, fmt.Errorf("its record is empty, but there is %q, so tokens that were given before would be given again:"+
				" put the record back, or empty the directory when nobody uses it", e.Name()))
		}
	}
	return nil
}
