package filelock

import (
	"os"
	"syscall"
)

// openIn opens a file of a directory that is open, wherever its path leads by now, and follows no symbolic link.
func openIn(dir *os.File, name string, flag int, mode os.FileMode) (*os.File, error) {
	path := dir.Name() + "/" + name
	mayBlock := flag&os.O_RDWR == 0
	if flag |= syscall.O_NOFOLLOW | syscall.O_CLOEXEC; mayBlock { // should it be a pipe: to open one for both never blocks
		flag |= syscall.O_NONBLOCK
	}
	for {
		fd, err := syscall.Openat(int(dir.Fd()), name, flag, uint32(mode.Perm()))
		switch err {
		case nil:
			if mayBlock {
				syscall.SetNonblock(fd, false) // only opening must not block
			}
			return os.NewFile(uintptr(fd), path), nil
		case syscall.EINTR:
		default:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}
