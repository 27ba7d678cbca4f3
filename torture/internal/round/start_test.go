package round

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast.dev/torture/internal/history"
)

// newCrew has one place, for a process that repeats what it is told until it is told to drain.
func newCrew(t *testing.T, said, log *bytes.Buffer) *crew {
	t.Helper()
	over := make(chan struct{})
	c := &crew{dir: t.TempDir(), command: []string{os.Args[0], "echo"}, places: [][]uint16{{0}}, stores: []string{"mem://x"},
		log: history.NewWriter(log), said: said, begin: make(chan func()), at: make([]*process, 1), fail: func(err error) { t.Error(err) }}
	go c.starter(over)
	t.Cleanup(func() { close(over) })
	return c
}

// Whoever is started when everybody drains hears first what to do, and then to drain, once.
func TestStartWhileDraining(t *testing.T) {
	t.Parallel()
	var said, log bytes.Buffer
	c := newCrew(t, &said, &log)
	if err := c.start(0); err != nil {
		t.Fatal(err)
	}
	c.Kill(0) // another one comes, before or after it is told to drain, or nobody
	if !c.drain(t.Context(), time.Minute) {
		t.Error("it does not drain")
	}
	c.draining = true
	said.Reset()
	if err := c.start(0); err != nil {
		t.Fatal(err)
	}
	c.ended.Wait()
	if lines := strings.Split(said.String(), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "{") || lines[1] != "drain" {
		t.Errorf("it heard %q", lines)
	}
}

// Whoever is started when the round is over is killed.
func TestStartWhenItIsOver(t *testing.T) {
	t.Parallel()
	var said, log bytes.Buffer
	c := newCrew(t, &said, &log)
	c.end()
	c.draining = false // so that it would stay
	if err := c.start(0); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	p := c.at[0]
	c.draining = true
	c.mu.Unlock()
	c.ended.Wait()
	if code := p.cmd.ProcessState.ExitCode(); code != -1 {
		t.Errorf("it ended by itself, with code %d", code)
	}
}
