package servers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const line = "a line of the log\n"
	long := strings.Repeat(line, tailSize)
	if err := os.WriteFile(path, []byte(long+"before\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	end := tail(path, 0)
	if len(end) > tailSize || len(end) < tailSize-len(line) || !strings.HasPrefix(end, line) || !strings.HasSuffix(end, line+"before\nafter\n") {
		t.Errorf("of a long log: %d bytes, %.40q … %q", len(end), end, end[max(0, len(end)-40):])
	}
	if end := tail(path, int64(len(long)+len("before\n"))); end != "after\n" {
		t.Errorf("from an offset on: %q", end)
	}
	if end := tail(filepath.Join(t.TempDir(), "none"), 0); end != "" {
		t.Errorf("of no log: %q", end)
	}
}
