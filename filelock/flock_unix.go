//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock

import (
	"os"
	"syscall"
)

const lockable = true

// flock takes a lock of the kernel's on a file, by flock(2): it belongs to the open file, not to the process, and ends with it,
// kill −9 included. Without wait it reports false if somebody else has it.
func flock(f *os.File, exclusive, wait bool) (bool, error) {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		switch err := syscall.Flock(int(f.Fd()), how); err {
		case nil:
			return true, nil
		case syscall.EWOULDBLOCK:
			return false, nil
		case syscall.EINTR:
		default:
			return false, os.NewSyscallError("flock", err)
		}
	}
}

// openNoFollow opens a file without following a symbolic link at the end of its path.
func openNoFollow(path string, flag int, mode os.FileMode) (*os.File, error) {
	for {
		fd, err := syscall.Open(path, flag|syscall.O_NOFOLLOW|syscall.O_CLOEXEC|syscall.O_NONBLOCK, uint32(mode.Perm()))
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
