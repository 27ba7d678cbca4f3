package filelock

import (
	"os"
	"syscall"
)

// openIn opens a file of a directory that is open, wherever its path leads by now, and follows no symbolic link.
func openIn(dir *os.File, name string, flag int, mode os.FileMode) (*os.File, error) {
	path := dir.Name() + "/" + name
	for {
		fd, err := syscall.Openat(int(dir.Fd()), name, flag|syscall.O_NOFOLLOW|syscall.O_CLOEXEC|syscall.O_NONBLOCK, uint32(mode.Perm()))
		switch err {
		case nil:
			syscall.SetNonblock(fd, false) // only opening must not block, should it be a pipe or a device
			return os.NewFile(uintptr(fd), path), nil
		case syscall.EINTR:
		default:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}
