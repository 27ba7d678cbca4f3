package filelock

import (
	"fmt"
	"os"
)

// Files returns a copy of the file alive of this client; see driver.Keeper. A copy is the same open file: while one is open, whether
// alive is a pipe or a file with a flock, the others see no end of it, and this client is not dead for them. It works on all systems
// but Windows.
func (st *Store) Files() ([]*os.File, error) {
	f, err := duplicate(st.presence.alive) // not under the mutex: where it has to keep children from being started, it waits for that
	st.mu.Lock()
	ended := st.ended
	st.mu.Unlock()
	if ended {
		if err == nil {
			f.Close()
		}
		return nil, errClosed
	}
	if err != nil {
		return nil, fmt.Errorf("copying %s: %w", st.dir.clientPath(st.id, aliveName), advise(err))
	}
	return []*os.File{f}, nil
}
