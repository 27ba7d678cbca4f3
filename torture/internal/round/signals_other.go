//go:build !unix

package round

import (
	"errors"
	"os"
)

// Supported: what cannot be stopped cannot be tortured.
const Supported = false

// freeze: processes cannot be stopped here.
func freeze(*os.Process) error { return errors.ErrUnsupported }

// thaw has nothing to do.
func thaw(*os.Process) {}
