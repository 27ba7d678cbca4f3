package program_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/guard"
	"holdfast.dev/cmd/holdfast/internal/program"
	"holdfast.dev/driver"
	"holdfast.dev/filelock"
	"holdfast.dev/locktest/remote"
)

// programVariable makes the test binary the program.
const programVariable = "HOLDFAST_TEST_PROGRAM"

func TestMain(m *testing.M) {
	driver.Register(remote.Scheme, remote.Open)
	driver.Register("deaf-test", func(context.Context, *driver.URL) (driver.Store, error) { select {} }) // does not even hear its context
	if guard.Invoked(os.Args) || os.Getenv(programVariable) == "1" {
		os.Exit(program.Main(os.Args))
	}
	os.Exit(m.Run())
}

// A world is where the program runs: a home, and nothing else in the environment.
type world struct {
	t    *testing.T
	home string
	env  []string
}

func newWorld(t *testing.T, env ...string) *world {
	t.Parallel()
	home := t.TempDir()
	// With the race detector a program that ends well sleeps a second, for races that come late.
	env = append([]string{programVariable + "=1", "HOME=" + home, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}, env...)
	return &world{t, home, env}
}

// A result is what a use of the program printed, and how it ended.
type result struct {
	stdout, stderr string
	code           int
}

// generous is how long a use of the program may take on a busy machine.
const generous = time.Minute

// run uses the program.
func (w *world) run(args ...string) result {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), generous)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, args...)
	var stdout, stderr strings.Builder
	cmd.Env, cmd.Stdout, cmd.Stderr = w.env, &stdout, &stderr
	err = cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		w.t.Fatalf("%q: %v, %v", args, err, ctx.Err())
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// expect uses the program, and compares everything.
func (w *world) expect(want result, args ...string) {
	w.t.Helper()
	if got := w.run(args...); got != want {
		w.t.Errorf("holdfast %q:\n got %d, stdout %q, stderr %q\nwant %d, stdout %q, stderr %q",
			args, got.code, got.stdout, got.stderr, want.code, want.stdout, want.stderr)
	}
}

// wrong expects that the program refuses a command line with that message.
func (w *world) wrong(message string, args ...string) {
	w.t.Helper()
	w.expect(result{stderr: "holdfast: " + message + "\n", code: 64}, args...)
}

// dir is the directory that the program uses when nobody says another.
func (w *world) dir() string { return filepath.Join(w.home, ".local", "state", "holdfast", "locks") }

// locks opens the program's own store in this process.
func (w *world) locks(opts ...holdfast.OpenOption) *holdfast.Client {
	w.t.Helper()
	return w.locksIn(w.dir(), opts...)
}

// locksIn opens a store in another directory.
func (w *world) locksIn(dir string, opts ...holdfast.OpenOption) *holdfast.Client {
	w.t.Helper()
	locks, err := holdfast.Open(w.t.Context(), filelock.URL(dir), opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { locks.Close() })
	return locks
}

// hold takes a lock.
func (w *world) hold(locker holdfast.Locker) *holdfast.Hold {
	w.t.Helper()
	hold, err := locker.TryLock(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return hold
}

// queue waits for a lock in the background, until the test ends, and returns when it is in the queue.
func (w *world) queue(locks *holdfast.Client, locker holdfast.Locker, name string, place int) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if hold, err := locker.Lock(ctx); err == nil {
			hold.Unlock()
		}
	}()
	w.t.Cleanup(func() { cancel(); <-done })
	waiting := func() int {
		info, err := locks.Inspect(w.t.Context(), name)
		if err != nil {
			w.t.Fatal(err)
		}
		return len(info.Waiters)
	}
	for begin := time.Now(); waiting() < place; time.Sleep(time.Millisecond) {
		if time.Since(begin) > generous {
			w.t.Fatal("it is not in the queue")
		}
	}
}

// fields splits the lines of a table, whose columns are two spaces or more apart.
func fields(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "  ")
		cells = slices.DeleteFunc(cells, func(c string) bool { return c == "" })
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
