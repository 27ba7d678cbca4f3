package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
	if err := os.MkdirAll(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, refused(path, fmt.Errorf("the directory cannot be made: %w; make it yourself, for the user whom this process runs as", bare(err)))
	}
	info, err := checkDirectory(path)
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
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, refused(path, fmt.Errorf("the directory cannot be made: %w", bare(err)))
	}
	info, err := checkDirectory(path)
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

// checkDirectory refuses everything but a directory of our own that nobody else can write to.
func checkDirectory(path string) (os.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, refused(path, bare(err))
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return nil, refused(path, errors.New("it is a symbolic link, which could lead elsewhere tomorrow: name the directory that it leads to"))
	case !mode.IsDir():
		return nil, refused(path, errors.New("it is not a directory: name one, or a path where one can be made"))
	}
	if err := checkOurs(info); err != nil {
		return nil, refused(path, err)
	}
	if perm := info.Mode().Perm(); perm&0o022 != 0 && modesCount {
		return nil, refused(path, fmt.Errorf("its mode is %#o, so others can write into it, and could take or free any lock: chmod 700 it, if it is meant for this", perm))
	}
	return info, nil
}

// checkContent refuses a directory that is somebody else's: it is ours if it is empty, or has our record in it.
func (d *directory) checkContent() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return refused(d.path, bare(err))
	}
	for _, e := range entries {
		if e.Name() == recordName {
			return nil
		}
	}
	for _, e := range entries {
		return refused(d.path, fmt.Errorf("it is not a holdfast directory: there is no file %q in it, but there is %q; name an empty directory, or one that does not exist",
			recordName, e.Name()))
	}
	return nil
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
		return err
	}
	return checkPrivate(info)
}
