//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package filelock

import (
	"fmt"
	"os"

	"holdfast.dev/driver"
)

// duplicate: on Windows the locks of a file belong to one process, and end with it, whoever else has the file open.
func duplicate(*os.File) (*os.File, error) {
	return nil, fmt.Errorf("%w on this system: a hold ends with its process, and nothing can keep it", driver.ErrUnsupported)
}
