package filelock

import (
	"os"
	"syscall"
)

// duplicate returns another descriptor of the same open file, which no child inherits. f.Fd is not used: it would make the file
// blocking, and so the copies.
func duplicate(f *os.File) (*os.File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd uintptr
	var errno syscall.Errno
	if err := conn.Control(func(own uintptr) {
		fd, _, errno = syscall.Syscall(syscall.SYS_FCNTL, own, syscall.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return nil, err
	}
	if errno != 0 {
		return nil, os.NewSyscallError("fcntl", errno)
	}
	return os.NewFile(fd, f.Name()), nil
}
