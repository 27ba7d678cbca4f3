package worker_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev"
	"holdfast.dev/torture/internal/worker"
)

// A process that cannot do what it is told ends with 1, and says why.
func TestCannotBegin(t *testing.T) {
	nowhere, err := json.Marshal(worker.Config{Process: 7, History: filepath.Join(t.TempDir(), "nowhere", "x.hist")})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ input, want string }{
		"nothing":                {"", "worker process 0: EOF"},
		"half a line":            {`{"Process": 7`, "worker process 0: EOF"},
		"something else":         {"drain\n", "worker process 0: invalid character"},
		"nowhere to write it to": {string(nowhere) + "\n", "worker process 7: open "},
	} {
		var errs strings.Builder
		if code := worker.Main(strings.NewReader(c.input), &errs, holdfast.Open); code != 1 || !strings.HasPrefix(errs.String(), c.want) {
			t.Errorf("%s: %d, %q; want %q", name, code, errs.String(), c.want)
		}
	}
}

// Only the variable makes a program a worker process.
func TestNotInvoked(t *testing.T) {
	for _, value := range []string{"", "yes"} {
		t.Setenv(worker.Variable, value)
		if code, invoked := worker.Invoked(holdfast.Open); code != 0 || invoked {
			t.Errorf("%q: %d, %v", value, code, invoked)
		}
	}
}
