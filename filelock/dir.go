package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"holdfast.dev/driver"
)

// Names in the directory.
const (
	recordName  = "holdfast"
	locksName   = "locks"
	clientsName = "clients"
)

// A directory is the one that a store lives in. It is kept open, so that its files are found even if its path leads elsewhere
// later; and that is noticed: see moved.
type directory struct {
	path    string
	locks   *os.File
	clients *os.File
	self    os.FileInfo // of the directory itself
	volume  volume
}

// refused is an answer that names a file, what is wrong with it, and what to do.
func refused(path string, err error) error {
	return &driver.Refused{Err: fmt.Errorf("%s: %w", path, err)}
}

// openDirectory checks that path is a directory that we can rely on, makes it if it does not exist, and opens it. It writes nothing
// into one that it refuses.
func openDirectory(path string, allowNetwork bool) (*directory, error) {
	if !filepath.IsAbs(path) {
		return nil, refused(path, errors.New("it is not an absolute path: name the directory from the root, so that every process means the same one"))
	}
	path = filepath.Clean(path)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || notDirectory(err) {
		if err := makeDirectory(path); err != nil {
			return nil, err
		}
	}
	info, err := checkDirectory(path, false)
	if err != nil {
		return nil, err
	}
	d := &directory{path: path, self: info}
	if d.volume, err = fileSystem(path); err != nil {
		return nil, refused(path, bare(err))
	}
	if err := d.volume.check(allowNetwork); err != nil {
		return nil, refused(path, err)
	}
	if err := d.checkContent(); err != nil {
		return nil, err
	}
	return d, nil
}

// makeDirectory makes path, and what is missing above it, for this user alone.
func makeDirectory(path string) error {
	missing := missingAbove(path)
	err := os.MkdirAll(path, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return syncNames(missing)
	}
	if notDirectory(err) {
		for above := filepath.Dir(path); above != filepath.Dir(above); above = filepath.Dir(above) {
			if info, err := os.Stat(above); err == nil && !info.IsDir() {
				return refused(path, fmt.Errorf("it cannot be made, because %s is %s, not a directory: name another path", above, kindOf(info)))
			}
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		err = bare(err)
	} else if told := advise(err); told.Error() != bare(err).Error() {
		return refused(path, fmt.Errorf("the directory cannot be made: %w", told))
	}
	return refused(path, fmt.Errorf("the directory cannot be made: %w; make it yourself, for the user whom this process runs as", bare(err)))
}

// missingAbove lists the directories in which something is to be made: that of path, and those above that do not exist.
func missingAbove(path string) (in []string) {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return in
		}
		path = filepath.Dir(path)
		in = append(in, path)
	}
}

// syncNames makes the names in directories durable, but for one that this user may write to and not read.
func syncNames(dirs []string) error {
	for _, path := range dirs {
		dir, err := os.Open(path)
		if errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err == nil {
			err = syncDirectory(dir)
			dir.Close()
		}
		if err != nil {
			return refused(path, advise(err))
		}
	}
	return nil
}

// notDirectory reports whether something on the path is no directory.
func notDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// kindOf says what something is that is no directory.
func kindOf(info os.FileInfo) string {
	if info.Mode().IsRegular() {
		return "a file"
	}
	return "something else (" + info.Mode().Type().String() + ")"
}

// openParts makes and opens what is inside, once the record is there.
func (d *directory) openParts() (err error) {
	if d.locks, err = openPart(filepath.Join(d.path, locksName)); err != nil {
		return err
	}
	if d.clients, err = openPart(filepath.Join(d.path, clientsName)); err != nil {
		d.close()
		return err
	}
	return nil
}

func openPart(path string) (*os.File, error) {
	err := os.Mkdir(path, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, refused(path, fmt.Errorf("the directory cannot be made: %w", advise(err)))
	}
	if err == nil { // with the record's name, which is new too if this is
		if err := syncNames([]string{filepath.Dir(path)}); err != nil {
			return nil, err
		}
	}
	info, err := checkDirectory(path, true)
	if err != nil {
		return nil, err
	}
	f, err := openNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, refused(path, bare(err))
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(opened, info) {
		f.Close()
		return nil, refused(path, errors.New("it was replaced while it was opened: open the store again"))
	}
	return f, nil
}

// checkDirectory refuses everything but a directory of our own that nobody else can write to: the whole, or a part of it.
func checkDirectory(path string, part bool) (os.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, refused(path, bare(err))
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return nil, refused(path, errors.New("it is a symbolic link, which could lead elsewhere tomorrow: name the directory that it leads to"))
	case !mode.IsDir():
		return nil, refused(path, fmt.Errorf("it is %s, not a directory: name one, or a path where one can be made", kindOf(info)))
	}
	asUser, private := "run it as that user, or use a directory of its own", "chmod 700 it, if it is meant for this"
	if !part && isShared(path, info) {
		asUser = "name a directory of your own in it, for instance " + filepath.Join(path, "NAME")
		private = asUser
	}
	if err := checkOurs(info); err != nil {
		return nil, refused(path, fmt.Errorf("%w: %s", err, asUser))
	}
	if perm := info.Mode().Perm(); perm&0o022 != 0 && modesCount {
		return nil, refused(path, fmt.Errorf("its mode is %#o, so others can write into it, and could take or free any lock: %s", perm, private))
	}
	return info, nil
}

// isShared reports whether a directory that others can write into is theirs to write into, such as the one for temporary files: one
// that is sticky, or has something in it that is not ours. Its mode must not be changed for our sake.
func isShared(path string, info os.FileInfo) bool {
	if info.Mode().Perm()&0o022 == 0 || !modesCount {
		return false
	}
	if info.Mode()&fs.ModeSticky != 0 {
		return true
	}
	stranger, err := strangerIn(path)
	return err != nil || stranger != ""
}

// checkContent refuses a directory that is somebody else's.
func (d *directory) checkContent() error {
	switch stranger, err := strangerIn(d.path); {
	case err != nil:
		return refused(d.path, bare(err))
	case stranger != "":
		return refused(d.path, fmt.Errorf("it is not a holdfast directory: there is no file %q in it, but there is %q; name an empty directory, or one that does not exist",
			recordName, stranger))
	}
	return nil
}

// strangerIn names something in a directory that is not ours, or "": it is ours if it is empty, or has our record in it.
func strangerIn(path string) (string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	stranger := ""
	for _, e := range entries {
		if e.Name() == recordName {
			return "", nil
		}
		if stranger == "" {
			stranger = e.Name()
		}
	}
	return stranger, nil
}

// moved reports whether the path leads to another directory than the one that was opened, or to none.
func (d *directory) moved() bool {
	for path, opened := range map[string]*os.File{d.path: nil, d.locks.Name(): d.locks} {
		want := d.self
		if opened != nil {
			info, err := opened.Stat()
			if err != nil {
				return true
			}
			want = info
		}
		if info, err := os.Lstat(path); err != nil || !os.SameFile(info, want) {
			return true
		}
	}
	return false
}

func (d *directory) lockPath(key string) string {
	return d.locks.Name() + string(filepath.Separator) + key
}

func (d *directory) clientPath(id string, file ...string) string {
	return filepath.Join(append([]string{d.clients.Name(), id}, file...)...)
}

func (d *directory) close() {
	for _, f := range []*os.File{d.locks, d.clients} {
		if f != nil {
			f.Close()
		}
	}
}

// bare is an error of package os without its path, where the message names that already.
func bare(err error) error {
	if e, ok := err.(*fs.PathError); ok { // not one inside: what is around it would be lost
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	return err
}

// checkFile refuses everything but a regular file of our own.
func checkFile(info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is not a regular file (%v), and we make no other: remove it, if no process of ours uses it", info.Mode().Type())
	}
	if err := checkOurs(info); err != nil {
		return fmt.Errorf("%w: run it as that user, or use a directory of its own", err)
	}
	return checkPrivate(info)
}
