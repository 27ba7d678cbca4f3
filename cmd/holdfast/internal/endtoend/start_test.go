//go:build linux

package endtoend_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/locktest/netfault"
)

// QUIT ends a run as early as there is one, and prints nothing for programmers.
func TestQuitAtTheStart(t *testing.T) {
	t.Parallel()
	w, random := newWorld(t), newRandom(t)
	for range *rounds {
		r := w.start("sh", "-c", "ulimit -c 0; exec holdfast run x -- sleep 1000")
		until(t, "it has begun", func() bool { return r.process().exe() == ourExe && r.process().hasChild() || r.hasEnded() })
		pause(random, 3)
		r.kill(unix.SIGQUIT)
		if got := r.ends(128 + int(unix.SIGQUIT)); got.errors != "" || got.out != "" {
			t.Fatalf("it printed %q %q", got.out, got.errors)
		}
	}
	w.isFree("x")
}

// Nothing ran under a lock whose command could not be started: its minimum hold does not count.
func TestMinHoldOfNothing(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		w.holdfast(exit.CannotRun, "run", "--min-hold", "1h", "x", "--", w.notRunnable())
		w.isFree("x")
		w.holdfast(exit.CannotRun, "run", "--min-hold", "1h", "x", "y", "--", w.notRunnable())
		w.isFree("x")
		w.isFree("y")
	})
}

// guards are the guard processes of runs inside the one that is called outer.
func guards(outer string) []process {
	return processes(func(p process) bool {
		return p.args()[0] == "holdfast-guard" && strings.HasPrefix(p.read("environ"), "HOLDFAST_RUN="+outer+"/") && p.alive()
	})
}

// Who waits needs no guard, and neither does who was refused: no process is left for them.
func TestWaitersHaveNoGuards(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client()
	hold, err := client.Mutex("x").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	outer := strings.TrimPrefix(w.mark, "HOLDFAST_TEST_WORLD=")
	w.env = append(w.env, "HOLDFAST_RUN="+outer)
	var all []*running
	for range 30 {
		all = append(all, w.start("holdfast", "run", "x", "--", "sh", "-c", "echo $HOLDFAST_RUN >>runs"))
	}
	w.awaitWaiters(client, "x", len(all))
	until(t, "those who wait have no guards", func() bool { return len(guards(outer)) == 0 })
	w.holdfast(1, "run", "-n", "x", "--", "true")
	until(t, "who was refused has none", func() bool { return len(guards(outer)) == 0 })
	if err := hold.Unlock(); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		r.ends(0)
	}
	if got := strings.Count(w.readFile("runs"), outer+"/"); got != len(all) {
		t.Errorf("%d runs were called as this test thinks, want %d", got, len(all))
	}
}

// With -n a store that refuses connections is asked once.
func TestUnreachableAtOnce(t *testing.T) {
	t.Parallel()
	w := newServedWorld(t)
	w.proxy.Refuse()
	if got := w.holdfast(exit.Unavailable, "run", "-n", "x", "--", "true"); strings.Contains(got.errors, "again") {
		t.Errorf("it tries again: %q", got.errors)
	}
}

// What is refused inside a run is only what would wait for that run: a semaphore is not the lock of the same name, and a token of another
// holder, in another store perhaps, is not the run's.
func TestNestedOthers(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		for line, code := range map[string]int{
			"holdfast run x -- holdfast run --limit 2 x -- true":           0,
			"holdfast run --limit 2 x -- holdfast run x -- true":           0,
			"holdfast run --limit 2 x -- holdfast run --limit 2 x -- true": 1,
		} {
			w.start("sh", "-c", line).ends(code)
		}
		client := w.client()
		reader, err1 := client.RWMutex("x", holdfast.Label("reader")).Reader().Lock(t.Context())
		permit, err2 := client.Semaphore("x", 2, holdfast.Label("permit")).Acquire(t.Context(), 1)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		defer reader.Unlock()
		defer permit.Unlock()
		info, err1 := client.Inspect(t.Context(), "x")
		permits, err2 := client.Semaphore("x", 2).Inspect(t.Context())
		if err := errors.Join(err1, err2); err != nil || len(info.Holders) != 1 || len(permits.Holders) != 1 {
			t.Fatalf("%v; want one holder each: %+v, %+v", err, info, permits)
		}
		for _, c := range []struct {
			kind, label string
			token       uint64
			flag        string
			code        int
		}{
			{"lock", info.Holders[0].Label, reader.Token(), "-s", 1},
			{"lock", "somebody else", reader.Token(), "-s", 0},
			{"lock", info.Holders[0].Label, reader.Token() + 1, "-s", 0},
			{"permits", info.Holders[0].Label, reader.Token(), "-s", 0},
			{"permits", permits.Holders[0].Label, permit.Token(), "--limit=2", 1},
			{"lock", permits.Holders[0].Label, permit.Token(), "--limit=2", 0},
		} {
			cmd := w.command("holdfast", "run", c.flag, "x", "--", "true")
			cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], fmt.Sprintf("HOLDFAST_HELD=%d %s %q x", c.token, c.kind, c.label))
			w.startCmd(cmd).ends(c.code)
		}
	})
}

// A second signal does not wait until the first one's end of the wait is confirmed by a store that hangs.
func TestSecondSignalWhileWaiting(t *testing.T) {
	t.Parallel()
	w := newServedWorld(t)
	client := w.client()
	hold, err := client.Mutex("x").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Unlock()
	r := w.start("holdfast", "run", "x", "--", "true")
	w.awaitWaiters(client, "x", 1)
	w.proxy.HoldRequests()
	r.kill(unix.SIGINT)
	if err := w.proxy.AwaitHeld(t.Context(), netfault.Requests, 1); err != nil { // that it leaves the queue: it has a second for it
		t.Fatal(err)
	}
	r.kill(unix.SIGTERM)
	r.ends(143)
}

// A lost lock is an error that is printed although nobody wants to hear more than errors; that a lock is held is none.
func TestQuiet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client()
	r := w.start("holdfast", "run", "--quiet", "x", "--", "actor", w.journal, "a")
	w.cast("a", 1)
	if got := w.holdfast(1, "run", "--quiet", "-n", "x", "--", "true"); got.errors != "" {
		t.Errorf("it says %q of a lock that is held", got.errors)
	}
	if got := w.holdfast(1, "run", "-n", "x", "--", "true"); got.errors == "" {
		t.Error("without --quiet it says nothing of a lock that is held: this test shows nothing")
	}
	w.holdfast(0, "break", "x", "--token", fmt.Sprint(w.tokenOf(client, "x")))
	if got := r.ends(exit.Lost); !strings.Contains(got.errors, "lost") {
		t.Errorf("of a lost lock it says %q", got.errors)
	}
}

// Messages that nobody takes, because their pipe is full or nobody reads it, do not keep the program from ending its command.
func TestMessagesThatNobodyReads(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(reader, writer *os.File) error{
		"full": func(_, writer *os.File) error {
			raw, err := writer.SyscallConn()
			if err != nil {
				return err
			}
			return raw.Control(func(fd uintptr) {
				for err = nil; err == nil; _, err = unix.Write(int(fd), make([]byte, 4096)) { // until it is full: it does not block yet
				}
				unix.SetNonblock(int(fd), false)
			})
		},
		"closed": func(reader, _ *os.File) error { return reader.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			client := w.client()
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			defer writer.Close()
			if err := spoil(reader, writer); err != nil {
				t.Fatal(err)
			}
			cmd := w.command("holdfast", "run", "--grace", "0.3s", "x", "--", "actor", "-survive", w.journal, "a")
			cmd.Stderr = writer
			r := w.startCmd(cmd)
			w.cast("a", 1)
			w.holdfast(0, "break", "x", "--token", fmt.Sprint(w.tokenOf(client, "x")))
			r.ends(exit.Lost)
			w.isFree("x")
		})
	}
}

// With -v the program says what it still waits for after the command has ended.
func TestLinger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	start := func(flag, run string) *running {
		return w.start("holdfast", "run", flag, run, "--", "actor", "-leave", "-children", "1", "-until", w.path("end"), w.journal, run)
	}
	verbose, quiet := start("-v", "a"), start("-q", "b")
	w.cast("a", 2)
	w.cast("b", 2)
	until(t, "it says so", func() bool {
		text, err := os.ReadFile(verbose.err.Name())
		return err == nil && strings.Contains(string(text), "background") && strings.Contains(string(text), "-o")
	})
	w.write("end", "")
	verbose.ends(0)
	if got := quiet.ends(0); got.errors != "" {
		t.Errorf("with -q it says %q", got.errors)
	}
}
