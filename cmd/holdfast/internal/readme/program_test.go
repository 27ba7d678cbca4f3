//go:build unix

package readme

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// takeTurns checks what the README says of its Go program: one that waits has the lock when the holder is killed, with a higher token.
func (r *reader) takeTurns() {
	r.t.Helper()
	path := filepath.Join(filepath.Dir(r.house.repository), "hello", "hello")
	first := startHello(r.t, r.house, path)
	one := first.token(r.t)
	second := startHello(r.t, r.house, path)
	r.awaitWaiter("orders/42")
	if err := first.cmd.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	if two := second.token(r.t); two <= one {
		r.t.Errorf("token %d after %d", two, one)
	}
}

// A hello is the README's Go program, running.
type hello struct {
	cmd    *exec.Cmd
	output *bufio.Reader
}

func startHello(t *testing.T, h *house, path string) *hello {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = h.env
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil { // on which nobody presses anything
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &hello{cmd, bufio.NewReader(output)}
}

// token waits until it has the lock. It ends itself if it does not get it.
func (h *hello) token(t *testing.T) (n uint64) {
	t.Helper()
	line, err := h.output.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(line, "I have the lock, until you press Enter, with token %d\n", &n); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return n
}

// awaitWaiter waits until somebody waits for a lock.
func (r *reader) awaitWaiter(name string) {
	r.t.Helper()
	waits := func(l lock) bool { return l.Name == name && len(l.Waiters) > 0 }
	look := newTerminal(r.t, r.house)
	for end := time.Now().Add(patience); !slices.ContainsFunc(look.locks(r.t), waits) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// A lock is one that is held or waited for.
type lock struct {
	Name    string `json:"name"`
	Waiters []any  `json:"waiters"`
}

// locks lists the locks of the store that the terminal uses.
func (term *terminal) locks(t *testing.T) []lock {
	t.Helper()
	output := term.run(t, "~/bin/holdfast ls --json")
	var all []lock
	if err := json.Unmarshal([]byte(output), &all); err != nil {
		t.Fatalf("holdfast ls --json: %v:\n%s", err, output)
	}
	return all
}
