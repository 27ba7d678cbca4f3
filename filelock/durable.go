package filelock

import (
	"os"
	"sync/atomic"
)

// whenSynced is called after each sync, with what was synced. Tests see by it what a power failure leaves.
var whenSynced atomic.Pointer[func(*os.File)]

// syncFile makes what was written into a file, or the names in a directory, durable.
func syncFile(f *os.File) error {
	err := f.Sync()
	if told := whenSynced.Load(); told != nil && err == nil {
		(*told)(f)
	}
	return err
}
