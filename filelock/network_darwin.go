package filelock

import (
	"os"
	"strings"
	"syscall"
)

// fileSystem says on what kind of file system a directory is.
func fileSystem(dir string) (volume, error) {
	const local = 0x1000 // MNT_LOCAL
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return volume{}, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	var name strings.Builder
	for _, c := range fs.Fstypename {
		if c == 0 {
			break
		}
		name.WriteByte(byte(c))
	}
	if fs.Flags&local == 0 || strings.Contains(name.String(), "fuse") {
		return volume{network: name.String()}, nil
	}
	return volume{memory: name.String() == "tmpfs"}, nil
}
