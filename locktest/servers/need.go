package servers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// ErrMissing means that a program is not installed. The error that wraps it names the program and the Debian package that has it.
var ErrMissing = errors.New("not installed")

// find returns where a program is.
func find(program, debian string) (string, error) {
	path, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%s is %w, or not in PATH: on Debian, apt-get install %s", program, ErrMissing, debian)
	}
	if err != nil {
		return "", fmt.Errorf("looking for %s: %w", program, err)
	}
	return path, nil
}

// A Test is what Need asks of a *testing.T, *testing.B or *testing.F.
type Test interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Need ends a test for which a server could not be started. If only its program is missing the test is skipped, unless
// HOLDFAST_TEST_REQUIRE is "all": then, and for every other reason, it fails. With a nil error it does nothing.
func Need(t Test, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrMissing) && os.Getenv("HOLDFAST_TEST_REQUIRE") != "all":
		t.Skipf("a server that this test needs: %v", err)
	default:
		t.Fatalf("a server that this test needs: %v", err)
	}
}
