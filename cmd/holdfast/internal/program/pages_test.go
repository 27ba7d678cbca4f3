package program_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/say"
)

// Every command has a page, and it fits a terminal of 80 columns.
func TestHelp(t *testing.T) {
	w := newWorld(t)
	for _, command := range []string{"", "run", "ls", "inspect", "break", "version", "help", "completion"} {
		got := w.run(strings.Fields("help " + command)...)
		also := w.run(strings.Fields(command + " --help")...)
		if got != also || got.code != 0 || got.stderr != "" {
			t.Errorf("help %s and %[1]s --help differ, or fail: %d, %q", command, got.code, got.stderr)
		}
		if !strings.Contains(got.stdout, "\nUsage:\n  holdfast") || command != "" && command != "completion" && !strings.Contains(got.stdout, "\nExamples:\n") {
			t.Errorf("help %s lacks something:\n%s", command, got.stdout)
		}
		for line := range strings.Lines(got.stdout) {
			if say.Width(strings.TrimSuffix(line, "\n")) > 80 || strings.Contains(line, "\t") {
				t.Errorf("help %s: too wide: %s", command, line)
			}
		}
	}
	page := w.run("help", "run").stdout
	for _, word := range []string{"HOLDFAST_HELD", "HOLDFAST_RUN", "set -m", "timeout(1)", "su -c", "TTOU", "one user", "HOLDFAST_NAME", "HOLDFAST_TOKEN", "HOLDFAST_STORE", "   64  ", "   69  ", "   71  ", "   75  ", "  126  ", "  127  ", "128+N",
		"nohup", "setsid", "TERM", "KILL", ".local/state/holdfast/locks", "-E, --conflict-exit-code CODE", "also -e", "also --wait", "--grace TIME"} {
		if !strings.Contains(page, word) {
			t.Errorf("help run does not mention %q", word)
		}
	}
	if strings.Contains(page, "--e ") {
		t.Error("the hidden flag is shown")
	}
	if !regexp.MustCompile(`(?s)-q, --quiet +do not say that the lock is held,.*printed all the same`).MatchString(page) || strings.Count(page, "--quiet") != 1 {
		t.Error("help run does not tell what --quiet does there, once")
	}
	if ls := w.run("help", "ls").stdout; !strings.Contains(ls, "-q, --quiet       print results and errors, but no notes\n") {
		t.Errorf("help ls does not tell what --quiet does there:\n%s", ls)
	}
}

func TestVersion(t *testing.T) {
	w := newWorld(t)
	got := w.run("version")
	if !regexp.MustCompile(`^holdfast \S+, go1\.\d+\S* `+runtime.GOOS+`/\S+, stores: deaf-test:// file:// redis:// redis\+sentinel:// rediss:// rediss\+sentinel:// redlock:// remote-test://\n$`).MatchString(got.stdout) || got.code != 0 {
		t.Errorf("version: %d, %q, %q", got.code, got.stdout, got.stderr)
	}
	w.expect(got, "--version")
}

// A shell that asks is answered soon, and without a word beside the answer.
func TestCompletion(t *testing.T) {
	w := newWorld(t)
	locks := w.locks()
	for _, name := range []string{"orders", "orange", "apple", "two words", "o\u202e"} {
		w.hold(locks.Mutex(name))
	}
	const nothingElse = ":4\n"
	expect := func(want string, args ...string) {
		t.Helper()
		got := w.run(append([]string{"__completeNoDesc"}, args...)...)
		lines := strings.SplitAfter(got.stdout, "\n")
		slices.Sort(lines)
		if strings.Join(lines, "") != want || got.stderr != "" || got.code != 0 {
			t.Errorf("%q: %d, %q, %q; want %q", args, got.code, got.stdout, got.stderr, want)
		}
	}
	for _, command := range []string{"inspect", "break", "ls"} {
		expect(nothingElse+"orange\norders\n", command, "o")
	}
	expect(nothingElse, "inspect", "x", "")
	expect(nothingElse+"orange\norders\n", "run", "-n", "o")
	expect(nothingElse+"orange\n", "run", "orders", "o")
	expect(":0\n", "run", "orders", "--", "o")
	expect(":0\n", "run", "orders", "--", "rm", "o")
	expect(nothingElse+"inspect\n", "ins")
	expect(":6\nfile://\n", "ls", "--store", "fi")
	expect(nothingElse, "inspect", "--store", "redis://:pw@"+unreachable(t), "")
	expect(nothingElse, "inspect", "--store", "remote-test://"+unreachable(t), "")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := w.run("completion", shell); got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, "__complete") {
			t.Errorf("completion %s: %d, %q", shell, got.code, got.stderr)
		}
	}
}

// To break a hold one need not look its token up; and what flags do is shown without the quotes that only the help needs.
func TestCompletionDescribes(t *testing.T) {
	w := newWorld(t)
	locks := w.locks(holdfast.Label("job"))
	hold, permits := w.hold(locks.Mutex("x")), w.hold(locks.Semaphore("x", 2).Permits(1))
	for _, c := range []struct {
		want string
		args []string
	}{
		{token(hold) + "\tHOST:PID job\n:4\n", []string{"break", "x", "--token", ""}},
		{token(permits) + "\tHOST:PID job\n:4\n", []string{"break", "--semaphore", "x", "--token", ""}},
		{":4\n", []string{"break", "x", "--token", "x"}},
		{":4\n", []string{"break", "free", "--token", ""}},
		{":4\n", []string{"break", "--token", ""}},
		{"--limit\tlet up to N commands under this name run at a time; everybody gives the same N\n:4\n", []string{"run", "--li"}},
		{"--store\tURL of the store; else that in HOLDFAST_STORE, else a directory of yours on this machine\n:4\n", []string{"ls", "--sto"}},
	} {
		got := w.run(append([]string{"__complete"}, c.args...)...)
		if me.ReplaceAllString(got.stdout, "HOST:PID") != c.want || got.stderr != "" || got.code != 0 {
			t.Errorf("%q: %d, %q, %q; want %q", c.args, got.code, got.stdout, got.stderr, c.want)
		}
	}
}

// What is completed is bounded, also by a store that accepts and says nothing.
func TestCompletionDoesNotHang(t *testing.T) {
	w := newWorld(t)
	begun := time.Now()
	for _, url := range []string{"remote-test://" + silent(t), "deaf-test://"} {
		w.expect(result{stdout: ":4\n"}, "__completeNoDesc", "inspect", "--store", url, "")
	}
	if took := time.Since(begun); took > generous/2 {
		t.Errorf("took %v", took)
	}
	got := w.run("ls", "--timeout", "0.2", "--store", "remote-test://"+silent(t))
	if got.code != 69 || !strings.HasSuffix(got.stderr, "; gave up after 0.2s, --timeout allows more\n") || got.stdout != "" {
		t.Errorf("ls of a silent store: %v", got)
	}
}

// Run is called with what was asked for: the rest is its own.
func TestRun(t *testing.T) {
	w := newWorld(t)
	if runtime.GOOS == "windows" {
		w.expect(result{code: 64, stderr: w.run("run", "x", "--", "true").stderr}, "run", "x", "--", "true")
		return
	}
	w.expect(result{stdout: "a  b\n"}, "run", "x", "--", "echo", "a  b")
	w.expect(result{code: 7}, "run", "x", "-c", "exit 7")
	w.expect(result{code: 1}, "run", "x", "--", "false")
	got := w.run("run", "y", "x", "--store", "remote-test://u:"+canary+"@"+unreachable(t), "-n", "--", "true")
	const warning = "holdfast: the password in --store can be seen by everybody in the list of processes; put the URL into HOLDFAST_STORE\n"
	if got.code != 69 || !strings.HasPrefix(got.stderr, warning) || strings.Contains(got.stderr, canary) {
		t.Errorf("an unreachable store: %d, %q", got.code, got.stderr)
	}
	if got := w.run("run", "-q", "x", "--store", "remote-test://u:"+canary+"@"+unreachable(t), "-n", "--", "true"); strings.Contains(got.stderr, "password") {
		t.Errorf("--quiet: %q", got.stderr)
	}
	if got := w.run("ls", "--store", "remote-test://u:"+canary+"@"+unreachable(t)); !strings.HasPrefix(got.stderr, warning) || got.code != 69 {
		t.Errorf("ls: %d, %q", got.code, got.stderr)
	}
	// What holds here is seen with the name of the command, and --quiet says nothing of not getting it.
	hold := w.hold(w.locks().Mutex("x"))
	w.expect(result{code: 3}, "run", "-q", "-nE3", "x", "--", "true")
	for wait := 0.01; ; wait *= 2 { // on a busy machine it takes a while to get as far as to the lock
		if got := w.run("run", "-q", "-w", fmt.Sprint(wait), "-E", "0", "x", "--", "true"); got == (result{}) {
			break
		} else if got.code != 69 || wait > generous.Seconds()/4 {
			t.Fatalf("-w %v: %v", wait, got)
		}
	}
	hold.Unlock()
	if got := w.run("run", "x", "-c", `"`+self(t)+`" ls`); !strings.Contains(got.stdout, " sh ") {
		t.Errorf("its label: %q, %q", got.stdout, got.stderr)
	}
	w.expect(result{stdout: "lock \"x\" is free\n"}, "inspect", "x")
	file := filepath.Join(w.home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := w.run("ls", "--store", "file://"+file); got.code != 69 || !strings.Contains(got.stderr, "not a directory") {
		t.Errorf("a file is no store: %v", got)
	}
}
