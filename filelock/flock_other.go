//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package filelock

import (
	"errors"
	"os"
)

// lockable: this system has no locks that end with their process.
const lockable = false

func flock(*os.File, bool, bool) (bool, error) { return false, errors.ErrUnsupported }

func openNoFollow(string, int, os.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }
