//go:build !linux

package filelock

import (
	"errors"
	"os"
	"path/filepath"
)

// openIn opens a file of a directory, by its path: package syscall has no openat here. Whoever calls it checks afterwards that the
// path still leads to the directory that is open.
func openIn(dir *os.File, name string, flag int, mode os.FileMode) (*os.File, error) {
	return openNoFollow(filepath.Join(dir.Name(), name), flag, mode)
}

// linkIn gives a file another name, in a directory. It fails if there is a file of that name.
func linkIn(dir *os.File, name, path string) error {
	err := os.Link(path, filepath.Join(dir.Name(), name))
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return &os.PathError{Op: "link", Path: path, Err: e.Err}
	}
	return err
}
