package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/resource"
	"holdfast.dev/torture/internal/worker"
)

// A disk is full when it is to take locks, or to let them go.
type disk struct {
	driver.Store
	taking, leaving atomic.Bool
}

var errFull = errors.New("no space\nis left")

func (d *disk) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	if d.taking.Load() {
		return nil, &driver.Refused{Err: errFull}
	}
	return d.Store.Acquire(ctx, r)
}

func (d *disk) Release(ctx context.Context, r *driver.Request) error {
	if d.leaving.Load() {
		return &driver.Refused{Err: errFull}
	}
	return d.Store.Release(ctx, r)
}

// said is what the process has said on standard error. After three lines the disk has space again.
type said struct {
	disk    *disk
	lines   []string
	drained chan struct{}
}

func (s *said) Write(p []byte) (int, error) {
	if s.lines = append(s.lines, string(p)); len(s.lines) == 3 {
		s.disk.taking.Store(false)
		s.disk.leaving.Store(false)
		close(s.drained)
	}
	return len(p), nil
}

// work lets one worker work on a disk until it has complained three times. It returns what it said, and the records of what failed.
func work(t *testing.T, d *disk, mix worker.Mix) (lines []string, failed []history.Record) {
	t.Helper()
	dir := t.TempDir()
	server, err := resource.Serve(filepath.Join(dir, "s"), resource.GateAll, history.NewWriter(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	c := worker.Config{Process: 91, Workers: []uint16{4}, PerClient: 1, History: filepath.Join(dir, "h"), Resource: filepath.Join(dir, "s"),
		TTL: 500 * time.Millisecond, Locks: locks, Mix: mix}
	line, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	in, controller := io.Pipe() // its end would end this process: it stays open
	out := &said{disk: d, drained: make(chan struct{})}
	go func() {
		controller.Write(append(line, '\n'))
		select {
		case <-out.drained:
		case <-time.After(20 * time.Second): // it does not complain: the test shall fail, and not hang
			d.taking.Store(false)
			d.leaving.Store(false)
		}
		controller.Write([]byte("drain\n"))
	}()
	code := worker.Main(in, out, func(_ context.Context, _ string, options ...holdfast.OpenOption) (*holdfast.Client, error) {
		return holdfast.New(d, options...), nil
	})
	if code != 0 {
		t.Errorf("it ended with %d: %q", code, out.lines)
	}
	file, err := os.Open(c.History)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := history.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return out.lines, slices.DeleteFunc(records, func(r history.Record) bool { return r.Outcome != history.Failed })
}

var locks = []history.LockMeta{{Name: "hot"}, {Name: "chief", Leader: true}}

// Whoever sees in a history that a call failed finds in the log why: a line for each.
func TestFailuresAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		mix worker.Mix
		op  history.Op
	}{
		"Lock":     {worker.Mix{Use: 1, Hot: 100}, history.Acquire},
		"TryLock":  {worker.Mix{Try: 1, Hot: 100}, history.Acquire},
		"deadline": {worker.Mix{GiveUp: 1, Hot: 100}, history.Acquire},
		"Campaign": {worker.Mix{Lead: 1}, history.Acquire},
		"Unlock":   {worker.Mix{Try: 1, Hot: 100}, history.Release},
	} {
		t.Run(name, func(t *testing.T) {
			d := &disk{Store: memlock.New()}
			d.taking.Store(c.op == history.Acquire)
			d.leaving.Store(c.op == history.Release)
			lines, failed := work(t, d, c.mix)
			if len(lines) != 3 || len(failed) != 3 {
				t.Fatalf("%d failed, and it said %q", len(failed), lines)
			}
			for i, r := range failed {
				begins := fmt.Sprintf("process 91 attempt %d lock %s: ", r.Attempt-91<<32, locks[r.Lock].Name)
				if r.Op != c.op || !strings.HasPrefix(lines[i], begins) || !strings.Contains(lines[i], "no space is left") || strings.Count(lines[i], "\n") != 1 {
					t.Errorf("%v failed, and it said %q, want %q", r.Op, lines[i], begins)
				}
			}
		})
	}
}
