//go:build linux

package endtoend_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The program ends as the command does: with its code, or with 128+n when it died of signal n.
func TestCodeOfTheCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, code := range []int{0, 1, 2, 63, 64, 69, 75, 77, 126, 127, 128, 129, 130, 143, 200, 254, 255} {
		w.holdfast(code, "run", "x", "--", "sh", "-c", fmt.Sprint("exit ", code))
	}
	for _, s := range []unix.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGABRT, unix.SIGKILL, unix.SIGUSR1, unix.SIGSEGV, unix.SIGPIPE, unix.SIGALRM, unix.SIGTERM,
	} {
		w.holdfast(128+int(s), "run", "x", "--", "sh", "-c", fmt.Sprintf("ulimit -c 0; kill -%d $$", s))
	}
	w.isFree("x")
}

// What cannot be run is told at once, and not after a wait for the lock.
func TestCodeWithoutACommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client()
	hold, err := client.Mutex("x").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Unlock()
	w.write("plain", "not a program\n")
	if err := unix.Chmod(w.path("plain"), 0o644); err != nil {
		t.Fatal(err)
	}
	for command, code := range map[string]int{
		"no-such-program": 127, w.path("nothing"): 127, w.path("plain"): 126, w.dir: 126, "./plain": 126, "./journal/x": 127,
	} {
		if got := w.holdfast(code, "run", "x", "--", command); got.errors == "" || got.out != "" {
			t.Errorf("%q: it says %q, and on its output %q", command, got.errors, got.out)
		}
	}
	w.hasWaiters(client, "x", 0)
}

// A lock that is not got: 1, or what -E says; at once with -n, after -w otherwise.
func TestCodeNotGot(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		client := w.client()
		hold, err := client.Mutex("x").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.holdfast(1, "run", "-n", "x", "--", "true")
		w.holdfast(1, "run", "--nonblock", "x", "--", "true")
		w.holdfast(42, "run", "-n", "-E", "42", "x", "--", "true")
		w.holdfast(0, "run", "x", "-n", "-E", "0", "--", "actor", w.journal, "never")
		w.holdfast(1, "run", "-w", "0", "x", "--", "true")
		begin := bootTime()
		w.holdfast(1, "run", "-w", "2.5", "x", "--", "true") // long enough to learn that it is held, also on a busy machine
		if took := bootTime() - begin; took < 2500*time.Millisecond {
			t.Errorf("-w 2.5 waited for %v", took)
		}
		w.holdfast(9, "run", "--timeout", "2.75", "--conflict-exit-code", "9", "x", "--", "true")
		w.hasWaiters(client, "x", 0)
		waiter := w.start("holdfast", "run", "-w", "25.5", "x", "--", "true")
		w.awaitWaiters(client, "x", 1)
		if err := hold.Unlock(); err != nil {
			t.Fatal(err)
		}
		waiter.ends(0)
		if got := w.entries(); len(got) > 0 {
			t.Errorf("a command ran without the lock: %v", got)
		}
	})
}

// A command line that cannot be meant so: 64, a word about it, and nothing was run.
func TestCodeUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, line := range []string{
		"run", "run x", "run x true", "run x --", "run -- actor J a", "run -n -w 1 x -- actor J a", "run -w -1 x -- actor J a",
		"run -w NaN x -- actor J a", "run -w Inf x -- actor J a", "run -E 256 -n x -- actor J a", "run -s -x x -- actor J a",
		"run -s --limit 2 x -- actor J a", "run --ttl 1ms x -- actor J a", "run --no-such-flag x -- actor J a", "run x\x01y -- actor J a",
		"run --store mem:// x -- actor J a", "run --store nowhere:// x -- actor J a", "run --limit 0 x -- actor J a", "frobnicate",
	} {
		args := strings.Fields(strings.ReplaceAll(line, " J ", " "+w.journal+" "))
		if got := w.holdfast(64, args...); got.errors == "" || got.out != "" {
			t.Errorf("%s: it says %q, and on its output %q", line, got.errors, got.out)
		}
	}
	if got := w.entries(); len(got) > 0 {
		t.Errorf("a command ran: %v", got)
	}
}

// A store that cannot be reached: 69, at once with -n, after -w otherwise; without either it is tried until it can.
func TestCodeUnreachable(t *testing.T) {
	t.Parallel()
	w := newServedWorld(t)
	w.proxy.Refuse()
	if got := w.holdfast(69, "run", "-n", "-E", "42", "x", "--", "true"); got.errors == "" {
		t.Error("it says nothing")
	}
	begin := bootTime()
	w.holdfast(69, "run", "-w", "0.35", "x", "--", "true")
	if took := bootTime() - begin; took < 350*time.Millisecond {
		t.Errorf("-w 0.35 waited for %v", took)
	}
	patient := w.start("holdfast", "run", "x", "--", "actor", "-leave", w.journal, "a")
	until(t, "it complains", func() bool { text, err := patient.err.Stat(); return err == nil && text.Size() > 0 })
	w.proxy.Accept()
	patient.ends(0)
	if got := w.saw("a", "start"); got != 1 {
		t.Errorf("the command ran %d times, want once", got)
	}
}

// TERM ends the wait for a store that cannot be reached.
func TestSignalWhileUnreachable(t *testing.T) {
	t.Parallel()
	w := newServedWorld(t)
	w.proxy.Refuse()
	r := w.start("holdfast", "run", "x", "--", "true")
	until(t, "it complains", func() bool { text, err := r.err.Stat(); return err == nil && text.Size() > 0 })
	r.kill(unix.SIGTERM)
	r.ends(128 + int(unix.SIGTERM))
}

// Fifty at once that each add one to a number in a file: none is lost, and tokens grow from one to the next.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		const n = 50
		w.write("number", "0\n")
		var all []*running
		for range n {
			all = append(all, w.start("holdfast", "run", "number", "--", "sh", "-c",
				"read n <number; echo $((n+1)) >number; echo $HOLDFAST_TOKEN >>tokens"))
		}
		for _, r := range all {
			r.ends(0)
		}
		if got := w.readFile("number"); got != fmt.Sprintln(n) {
			t.Errorf("the number is %q, want %d", got, n)
		}
		last := uint64(0)
		for text := range strings.Lines(w.readFile("tokens")) {
			token, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
			if err != nil || token <= last {
				t.Errorf("token %q after %d: %v", text, last, err)
			}
			last = token
		}
	})
}
