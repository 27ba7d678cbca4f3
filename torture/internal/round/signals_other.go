//go:build !unix

package round

import (
	"errors"
	"os"
)

// freeze: processes cannot be stopped here.
func freeze(*os.Process) error { return errors.ErrUnsupported }

// thaw has nothing to do.
func thaw(*os.Process) {}
