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

// lockItself checks the script that sees to it itself that it runs alone: it waits for its lock, whatever it has inherited from a run
// that is long over; and it works in a shell that minds variables which are not set.
func (r *reader) lockItself() {
	r.t.Helper()
	before := newTerminal(r.t, r.house)
	before.run(r.t, "export PATH=~/bin:$PATH")
	holder := before.begin(r.t, "holdfast run migrate -- cat")
	r.awaitLocks(holder, func(l lock) bool { return l.Name == "migrate" })
	script := before.begin(r.t, "HOLDFAST_NAME=migrate HOLDFAST_TOKEN=7 sh -eu ./migrate")
	r.awaitLocks(script, func(l lock) bool { return l.Name == "migrate" && len(l.Waiters) > 0 })
	if output := holder.finish(r.t); output != "" {
		r.t.Errorf("the holder printed %q", output)
	}
	if output := script.finish(r.t); !alike("migrating, alone, with token 1\n", output) || before.code != 0 {
		r.t.Errorf("the script ended with code %d and printed %q", before.code, output)
	}
}

// awaitLocks waits until a lock is seen as it should be while a command runs, which must not end before.
func (r *reader) awaitLocks(running *background, seen func(lock) bool) {
	r.t.Helper()
	look := newTerminal(r.t, r.house)
	for !slices.ContainsFunc(look.locks(r.t), seen) {
		if !running.runs() {
			r.t.Fatalf("%s ended too early, and printed:\n%s", running.command, running.finish(r.t))
		}
		time.Sleep(time.Millisecond)
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
	output := term.run(t, "~/bin/holdfast ls -q --json")
	var all []lock
	if err := json.Unmarshal([]byte(output), &all); err != nil {
		t.Fatalf("holdfast ls --json: %v:\n%s", err, output)
	}
	return all
}
