package filelock

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

const lockable = true

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

const (
	lockfileFailImmediately = 1
	lockfileExclusiveLock   = 2
	errorLockViolation      = syscall.Errno(33)
	farAway                 = 1 << 30 // in units of 4 GiB: locks are mandatory here, so it is beyond all that is read or written
)

// flock takes a lock of the kernel's on a file; it ends with the open file. Without wait it reports false if somebody else has it.
func flock(f *os.File, exclusive, wait bool) (bool, error) {
	var flags uintptr
	if exclusive {
		flags |= lockfileExclusiveLock
	}
	if !wait {
		flags |= lockfileFailImmediately
	}
	at := syscall.Overlapped{OffsetHigh: farAway}
	ok, _, err := lockFileEx.Call(f.Fd(), flags, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return true, nil
	case !wait && (errors.Is(err, errorLockViolation) || errors.Is(err, syscall.ERROR_IO_PENDING)):
		return false, nil
	}
	return false, os.NewSyscallError("LockFileEx", err)
}

// openNoFollow opens a file without following a link. It may be removed while it is open, as elsewhere.
func openNoFollow(path string, flag int, _ os.FileMode) (*os.File, error) {
	const openReparsePoint = 0x00200000
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	access, how := uint32(syscall.GENERIC_READ), uint32(syscall.OPEN_EXISTING)
	if flag&os.O_RDWR != 0 {
		access |= syscall.GENERIC_WRITE
	}
	switch {
	case flag&os.O_EXCL != 0:
		how = syscall.CREATE_NEW
	case flag&os.O_CREATE != 0:
		how = syscall.OPEN_ALWAYS
	}
	share := uint32(syscall.FILE_SHARE_READ | syscall.FILE_SHARE_WRITE | syscall.FILE_SHARE_DELETE)
	attributes := uint32(syscall.FILE_ATTRIBUTE_NORMAL | openReparsePoint | syscall.FILE_FLAG_BACKUP_SEMANTICS)
	handle, err := syscall.CreateFile(name, access, share, nil, how, attributes, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}
