package filelock

import (
	"fmt"
	"os"
)

// Files returns a copy of the file alive of this client; see driver.Keeper. A copy is the same open file: while one is open, whether
// alive is a pipe or a file with a flock, the others see no end of it, and this client is not dead for them. It works on all systems
// but Windows.
func (st *Store) Files() ([]*os.File, error) {
	st.mu.Lock() // so that a copy is made before Close begins, or not at all; it does not block
	defer st.mu.Unlock()
	if st.ended {
		return nil, errClosed
	}
	f, err := duplicate(st.presence.alive)
	if err != nil {
		return nil, fmt.Errorf("copying %s: %w", st.dir.clientPath(st.id, aliveName), advise(err))
	}
	return []*os.File{f}, nil
}
