package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// makingName is a lock's file that is being made, in its maker's own directory. What is left of a maker that was killed goes with
// that directory.
const makingName = "making"

// make makes the lock's file: complete, under another name, and then gives it its own, which fails if there is one already. So
// nobody ever finds a file of ours that is blank; one that is was put there by somebody else, and is not written to. Without an
// error there is a file now, made by us or by somebody else.
//
// It has no entries and was written once: it is fresh. Whoever gets its guard first checks the claims (see tx.load), whoever made it.
//
// The file has two names for a moment. Its maker has the guard meanwhile; should it be killed just then, see finishMaking.
func (lk *lock) make() error {
	st := lk.store
	st.making.Lock()
	defer st.making.Unlock()
	path := st.dir.clientPath(st.id, makingName)
	f, err := openNoFollow(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // it could not be removed the last time
		os.Remove(path)
		f, err = openNoFollow(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return lk.madeNot(err)
	}
	defer f.Close()
	got, err := flock(f, true, false)
	if err == nil && !got {
		err = errors.New("somebody else has locked a file that was just made")
	}
	if err == nil {
		at, b := st.now(), newBox(f, 0, lockMagic)
		err = b.write((&state{name: lk.name, permits: lk.permits, clock: at.clock, epoch: at.epoch()}).encode(nil))
	}
	if err == nil {
		err = st.dir.giveName(path, lk.key)
	}
	if removed := os.Remove(path); err == nil && !errors.Is(removed, fs.ErrNotExist) { // it has no other name now
		err = removed
	}
	if err != nil {
		return lk.madeNot(err)
	}
	return nil
}

// madeNot says why the file could not be made.
func (lk *lock) madeNot(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if lk.store.dir.moved() {
			return fmt.Errorf("%s: %w", lk.store.dir.path, errMoved)
		}
		return lk.problem(fmt.Errorf("it cannot be made, because the directory of this client, %s, was removed: open the store again",
			lk.store.dir.clientPath(lk.store.id)))
	}
	return lk.openProblem(err, true)
}

// giveName gives a file that is complete its name among the locks, unless there is a file of that name. Where a file cannot have two
// names, it looks first: a foreign one that is put there just then would be replaced.
func (d *directory) giveName(path, key string) error {
	err := linkIn(d.locks, key, path)
	switch {
	case err == nil || errors.Is(err, fs.ErrExist):
		return nil
	case !errors.Is(err, syscall.EPERM) && !errors.Is(err, errors.ErrUnsupported):
		return err
	}
	if _, err := os.Lstat(d.lockPath(key)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if renamed := os.Rename(path, d.lockPath(key)); renamed != nil {
		return err
	}
	return nil
}

// checkMade refuses a lock's file that is not as we make them, and returns what it is now. One with two names gets a second look: its
// maker may have been killed, or somebody else may have finished its work just now. Whoever calls it has the guard.
func (st *Store) checkMade(f *os.File, info os.FileInfo) (os.FileInfo, error) {
	if checkFile(info) == nil {
		return info, nil
	}
	st.finishMaking(info)
	info, err := f.Stat()
	if err == nil {
		err = checkFile(info)
	}
	return info, err
}

// finishMaking removes the other name of a file whose maker was killed between giving it its own and removing that, if there is such
// a name. Whoever calls it has the guard, so its maker is at work no more.
func (st *Store) finishMaking(info os.FileInfo) {
	ids, _ := st.clientIDs()
	for _, id := range ids {
		path := st.dir.clientPath(id, makingName)
		if there, err := os.Lstat(path); err == nil && os.SameFile(info, there) {
			os.Remove(path)
			return
		}
	}
}
