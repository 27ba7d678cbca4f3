package filelock

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const stampVariable = "HOLDFAST_FILELOCK_STAMP"

// A process in a time namespace, whose CLOCK_BOOTTIME is a day ahead, has the same stamps as we.
func TestStampInTimeNamespace(t *testing.T) {
	if os.Getenv(stampVariable) != "" {
		os.Stdout.WriteString("stamp " + strconv.FormatInt(int64(machineClock("").now()), 10) + "\n")
		return
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--time", "--fork", "--boottime", "86400", binary, "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), stampVariable+"=1")
	before := machineClock("").now()
	output, err := cmd.CombinedOutput()
	after := machineClock("").now()
	_, text, found := strings.Cut(string(output), "stamp ")
	if !found {
		t.Skipf("this system lets us have no time namespace: %v, %s", err, output)
	}
	text, _, _ = strings.Cut(text, "\n")
	n, err := strconv.ParseInt(text, 10, 64)
	if there := stamp(n); err != nil || there.before(before) || after.before(there) {
		t.Errorf("a stamp there is %q (%v); want one between %d and %d", text, err, before, after)
	}
}

// How far the clock is moved is known from /proc, or not at all.
func TestReadMoved(t *testing.T) {
	for name, c := range map[string]struct {
		offsets, stat string
		moved         time.Duration
		known         bool
	}{
		"moved":          {"monotonic  7  0\nboottime  86400  5\n", "1", 24*time.Hour + 5, true},
		"moved back":     {"monotonic           0         0\nboottime        -3600  1\n", "1", -time.Hour + 1, true},
		"numbers":        {"1 0 0\n7 60 0\n", "1", time.Minute, true},
		"not moved":      {"monotonic 0 0\nboottime 0 0\n", "1", 0, true},
		"no namespaces":  {"", "1", 0, true},
		"no proc":        {"", "", 0, false},
		"cannot be read": {"boottime x 0\n", "1", 0, false},
		"no such clock":  {"monotonic 0 0\n", "1", 0, false},
	} {
		proc := t.TempDir()
		if err := os.Mkdir(filepath.Join(proc, "self"), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"timens_offsets": c.offsets, "stat": c.stat} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(proc, "self", file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if moved, known := readMoved(proc); known != c.known || known && moved != c.moved {
			t.Errorf("%s: moved by %v, %v; want %v, %v", name, moved, known, c.moved, c.known)
		}
	}
}
