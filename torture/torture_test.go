package torture_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"holdfast.dev/torture"
	"holdfast.dev/torture/internal/worker"
)

// What the test binary is when it is started again with this argument: a worker process that is none.
const complain, complaint = "complain", "there is nothing for me to do here"

// Whatever the tests do, nothing is left of it: no file, no process, no goroutine.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == complain {
		os.Stderr.WriteString(complaint + "\n")
		os.Exit(1)
	}
	if code, invoked := torture.Invoked(); invoked {
		os.Exit(code)
	}
	os.Exit(withoutTraces(m.Run))
}

func withoutTraces(run func() int) int {
	dir, err := os.MkdirTemp("", "t")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("TMPDIR", dir)
	before := runtime.NumGoroutine()
	code := run()
	begun := time.Now()
	left := traces(dir, before)
	for len(left) > 0 && time.Since(begun) < 5*time.Second { // goroutines take a moment to end
		time.Sleep(time.Millisecond)
		left = traces(dir, before)
	}
	for _, what := range left {
		fmt.Fprintln(os.Stderr, "left behind:", what)
		code = 1
	}
	return code
}

// traces lists what is left.
func traces(dir string, goroutines int) (left []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		left = append(left, err.Error())
	}
	for _, e := range entries {
		left = append(left, "a file: "+e.Name())
	}
	for _, name := range children() {
		left = append(left, "a process: "+name)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		stacks := make([]byte, 1<<16)
		left = append(left, fmt.Sprintf("%d goroutines, %d before:\n%s", n, goroutines, stacks[:runtime.Stack(stacks, true)]))
	}
	return left
}

// children are the processes that this one has started, where that can be known.
func children() (names []string) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for _, pid := range strings.Fields(string(data)) {
			command, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			names = append(names, pid+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return names
}

// A document is what of a result as JSON these tests look at.
type document struct {
	Command []string
	Bundles []string
	Rounds  int
	Seeds   []uint64
	Rows    []struct {
		Store, Fault, Class           string
		Operations, Holds, Violations int
	}
	Violations []struct{ Bundle, Checker string }
	Controls   []struct {
		Name                      string
		Seeds, Caught, TwinPassed int
		By                        []string
	}
	Timeline []any
}

func (d document) operations() (sum int) {
	for _, row := range d.Rows {
		sum += row.Operations
	}
	return sum
}

func read(t *testing.T, r *torture.Result) (d document) {
	t.Helper()
	if r == nil {
		t.Fatal("there is no result")
	}
	var b bytes.Buffer
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// text is a result as people read it.
func text(t *testing.T, r *torture.Result) string {
	t.Helper()
	var b strings.Builder
	if err := r.Text(&b, 100); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// options are those of a short run that does little, for a machine that is busy.
func options(into string) torture.Options {
	return torture.Options{Stores: []string{"memory"}, Seed: 1, Duration: time.Second, Workers: 4, Into: into, Command: "a test"}
}

// A program that calls Run without having asked Invoked would start itself for ever.
func TestWorkerDoesNotRun(t *testing.T) {
	t.Setenv(worker.Variable, "something")
	_, err := torture.Run(t.Context(), options(""))
	_, also := torture.Controls(t.Context(), torture.ControlOptions{Seeds: 1, Parallel: 1})
	for _, err := range []error{err, also} {
		if err == nil || !strings.Contains(err.Error(), "torture.Invoked") {
			t.Errorf("%v", err)
		}
	}
}
