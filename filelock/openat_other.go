//go:build !linux

package filelock

import (
	"os"
	"path/filepath"
)

// openIn opens a file of a directory, by its path: package syscall has no openat here. Whoever calls it checks afterwards that the
// path still leads to the directory that is open.
func openIn(dir *os.File, name string, flag int, mode os.FileMode) (*os.File, error) {
	return openNoFollow(filepath.Join(dir.Name(), name), flag, mode)
}
