//go:build !linux

package filelock

import (
	"errors"
	"os"
)

// pipesWork: whether pipes wake their readers here as they should has not been tried, so clients poll.
const pipesWork = false

func (p *presence) openPipes(string, bool) error { return nil }

// probePipe: a client on another system, on a network file system, cannot be seen from here.
func probePipe(*os.File) (life, error) {
	return odd, errors.New("its client is on another kind of system: use one kind of system for one directory")
}

func (st *Store) ring(string, keySum) error { return nil }

func (st *Store) openWatch(string) (*os.File, error) { return nil, errors.ErrUnsupported }
