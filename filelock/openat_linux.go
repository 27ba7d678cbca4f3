package filelock

import (
	"os"
	"syscall"
	"unsafe"
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

// linkIn gives a file another name, in a directory that is open. It fails if there is a file of that name.
func linkIn(dir *os.File, name, path string) error {
	const here = -100 // AT_FDCWD
	from, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	cwd := here
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_LINKAT, uintptr(cwd), uintptr(unsafe.Pointer(from)), dir.Fd(), uintptr(unsafe.Pointer(to)), 0, 0)
		switch errno {
		case 0:
			return nil
		case syscall.EINTR:
		default:
			return &os.PathError{Op: "link", Path: path, Err: errno}
		}
	}
}
