package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/resource"
	"holdfast.dev/torture/internal/worker"
)

// leaking is a store whose clients leave two goroutines and two descriptors behind.
const leaking = "mem://leaking"

// reaching is one whose code has a point at which a process may die.
const reaching = "mem://reaching"

// left is what the leaking store opens: what nobody refers to is closed by and by.
var left [2]*os.File

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "child" {
		code, _ := worker.Invoked(func(ctx context.Context, store string, options ...holdfast.OpenOption) (*holdfast.Client, error) {
			switch store {
			case leaking:
				for range 2 {
					go func() { select {} }()
				}
				left[0], left[1], _ = os.Pipe()
			case reaching:
				options = append(options, holdfast.WithObserver(holdfast.ObserverFunc(func(context.Context, holdfast.Event) { worker.Reached() })))
			}
			return holdfast.Open(ctx, store, options...)
		})
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// A child is a worker process of its own.
type child struct {
	*testing.T
	cmd     *exec.Cmd
	input   io.WriteCloser
	history string
	errs    bytes.Buffer
}

// start starts a process with one worker and one lock.
func start(t *testing.T, store string, mix worker.Mix) *child {
	t.Helper()
	dir, err := os.MkdirTemp("", "worker-") // short: there is a socket in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	server, err := resource.Serve(filepath.Join(dir, "s"), resource.GateAll, history.NewWriter(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	config, err := json.Marshal(worker.Config{Process: 7, Workers: []uint16{3}, PerClient: 1, Seed: 1, History: filepath.Join(dir, "h"),
		Resource: filepath.Join(dir, "s"), Store: store, TTL: 300 * time.Millisecond, Locks: []history.LockMeta{{Name: "hot"}}, Mix: mix, Alone: true})
	if err != nil {
		t.Fatal(err)
	}
	c := &child{T: t, cmd: exec.Command(os.Args[0], "child"), history: filepath.Join(dir, "h")}
	c.cmd.Env = append(os.Environ(), worker.Variable+"="+worker.ModeWork)
	c.cmd.Stderr = &c.errs
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill() })
	c.tell(string(config))
	return c
}

func (c *child) tell(line string) { io.WriteString(c.input, line+"\n") }

// records are those that it has written so far, of an operation in a phase.
func (c *child) records(op history.Op, phase history.Phase) []history.Record {
	c.Helper()
	file, err := os.Open(c.history)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		c.Fatal(err)
	}
	defer file.Close()
	all, err := history.Decode(file)
	if err != nil {
		c.Fatal(err)
	}
	return slices.DeleteFunc(all, func(r history.Record) bool { return r.Op != op || r.Phase != phase })
}

// until waits for a record, and tries meanwhile.
func (c *child) until(op history.Op, phase history.Phase, is func(history.Record) bool, try func()) {
	c.Helper()
	for begun := time.Now(); !slices.ContainsFunc(c.records(op, phase), is); time.Sleep(time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			c.Fatalf("no record %v %v", op, phase)
		}
		try()
	}
}

// ends waits for its end, and returns its code; −1 by a signal.
func (c *child) ends() int {
	late := time.AfterFunc(30*time.Second, func() {
		c.Error("it does not end")
		c.cmd.Process.Kill()
	})
	defer late.Stop()
	c.cmd.Wait()
	if c.errs.Len() > 0 {
		c.Logf("it said %s", &c.errs)
	}
	return c.cmd.ProcessState.ExitCode()
}

func some(history.Record) bool { return true }
func nothing()                 {}
