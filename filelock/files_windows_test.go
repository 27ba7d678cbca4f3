package filelock

import (
	"errors"
	"testing"

	"holdfast.dev/driver"
)

// A hold ends with its process here, and nobody is told otherwise.
func TestFilesAreUnsupported(t *testing.T) {
	st := opened(t, newDir(t))
	if files, err := st.Files(); !errors.Is(err, driver.ErrUnsupported) || files != nil {
		t.Errorf("Files: %v, %v; want ErrUnsupported", files, err)
	}
	st.Close()
	if _, err := st.Files(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Files of a closed client: %v; want ErrClosed", err)
	}
}
