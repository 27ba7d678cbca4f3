package filelock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// pipesWork: the kernel wakes whoever reads a pipe of which the last writer has ended.
const pipesWork = true

// openPipes makes alive and, if it is asked for, bell named pipes. On a file system that has none it does nothing, and the client
// polls.
func (p *presence) openPipes(dir string, bell bool) (err error) {
	if p.alive, err = makePipe(filepath.Join(dir, aliveName)); errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) {
		return nil
	}
	if err == nil && bell {
		p.bell, err = makePipe(filepath.Join(dir, bellName))
	}
	return err
}

// makePipe makes a named pipe and opens it for both reading and writing, so that it neither waits for a reader nor ever sees an
// end itself.
func makePipe(path string) (*os.File, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, &fs.PathError{Op: "mkfifo", Path: path, Err: err}
	}
	return openPipe(path, os.O_RDWR)
}

// openPipe opens a named pipe that Go's poller waits for.
func openPipe(path string, flag int) (*os.File, error) {
	for {
		fd, err := syscall.Open(path, flag|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		var stat syscall.Stat_t
		if err := syscall.Fstat(fd, &stat); err != nil || stat.Mode&syscall.S_IFMT != syscall.S_IFIFO || int(stat.Uid) != os.Geteuid() {
			syscall.Close(fd)
			return nil, &fs.PathError{Op: "open", Path: path, Err: errNoPipe}
		}
		return os.NewFile(uintptr(fd), path), nil
	}
}

var errNoPipe = errors.New("it is not a named pipe of ours")

// probePipe: reading a pipe that nobody has open for writing finds its end.
func probePipe(f *os.File) (life, error) {
	fd := int(f.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil {
		return odd, err
	}
	var some [64]byte
	for {
		switch n, err := syscall.Read(fd, some[:]); {
		case err == syscall.EAGAIN:
			return alive, nil
		case err == syscall.EINTR || err == nil && n > 0: // nobody should write there
		case err != nil:
			return odd, os.NewSyscallError("read", err)
		default:
			return dead, nil
		}
	}
}

// ring makes a client look at a lock. One that polls, or has ended, has no bell to hear; one whose bell is full will look at
// everything. It fails only for want of a descriptor, or of memory: then a client that must hear it may not have.
func (st *Store) ring(id string, sum keySum) error {
	bell, err := st.openOther(id, bellName, os.O_WRONLY)
	if err != nil {
		if scarce(err) {
			return err
		}
		return nil
	}
	defer bell.Close()
	conn, err := bell.SyscallConn()
	if err != nil {
		return err
	}
	conn.Write(func(fd uintptr) bool { // tried once: it must not block
		for {
			if _, err := syscall.Write(int(fd), sum[1:1+ringLen]); err != syscall.EINTR {
				return true
			}
		}
	})
	return nil
}

// openWatch opens what tells the end of a client: a Read of it waits until then.
func (st *Store) openWatch(id string) (*os.File, error) {
	return st.openOther(id, aliveName, os.O_RDONLY)
}

// openOther opens a pipe of another client.
func (st *Store) openOther(id, name string, flag int) (*os.File, error) {
	path := st.dir.clientPath(id, name)
	if st.lack != nil {
		if err := st.lack(path); err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
	return openPipe(path, flag)
}
