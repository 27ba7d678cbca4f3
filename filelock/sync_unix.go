//go:build !windows

package filelock

import "os"

// syncDirectory makes the names in a directory durable.
func syncDirectory(dir *os.File) error { return syncFile(dir) }
