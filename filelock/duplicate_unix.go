//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package filelock

import (
	"os"
	"syscall"
)

// duplicate returns another descriptor of the same open file, which no child inherits: package syscall cannot do both at once here, so
// no child is started meanwhile.
func duplicate(f *os.File) (*os.File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var failed error
	if err := conn.Control(func(own uintptr) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if fd, failed = syscall.Dup(int(own)); failed == nil {
			syscall.CloseOnExec(fd)
		}
	}); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, os.NewSyscallError("dup", failed)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
