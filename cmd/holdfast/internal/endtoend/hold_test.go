//go:build linux

package endtoend_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// --min-hold keeps the lock for that long, though the command ends at once, and also when the program is killed.
func TestMinHold(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		begin := bootTime()
		w.holdfast(0, "run", "--min-hold", "1.5s", "x", "--", "true")
		if soon := bootTime() - begin; soon < time.Second { // or the machine was too busy to tell
			w.holdfast(1, "run", "-n", "x", "--", "true")
		}
		w.holdfast(0, "run", "x", "--", "actor", "-leave", w.journal, "next")
		if kept := w.when("next", "start") - begin; kept < 1500*time.Millisecond {
			t.Errorf("the lock was free after %v", kept)
		}

		begin = bootTime()
		r := w.start("holdfast", "run", "--ttl", "3s", "--grace", "0.2s", "--min-hold", "4s", "x", "--", "actor", w.journal, "killed")
		w.cast("killed", 1)
		r.kill(unix.SIGKILL)
		r.ends(137)
		w.holdfast(0, "run", "x", "--", "actor", "-leave", w.journal, "last")
		if kept := w.when("last", "start") - begin; kept < 4*time.Second {
			t.Errorf("after a kill the lock was free after %v", kept)
		}
	})
}

// Readers run together, and no writer among them.
func TestShared(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		var readers []*running
		for i := range 3 {
			readers = append(readers, w.start("holdfast", "run", "-s", "x", "--", "actor", "-until", w.path("end"), w.journal, fmt.Sprint("reader", i)))
		}
		for i := range readers {
			w.cast(fmt.Sprint("reader", i), 1)
		}
		w.holdfast(1, "run", "-n", "x", "--", "true")
		w.holdfast(0, "run", "-n", "-s", "x", "--", "true")
		w.write("end", "")
		for _, r := range readers {
			r.ends(0)
		}
		w.isFree("x")
	})
}

// --limit lets so many run together.
func TestLimit(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		var all []*running
		for i := range 2 {
			run := fmt.Sprint("run", i)
			all = append(all, w.start("holdfast", "run", "--limit", "2", "x", "--", "actor", "-until", w.path(run), w.journal, run))
			w.cast(run, 1)
		}
		w.holdfast(1, "run", "-n", "--limit", "2", "x", "--", "true")
		w.isFree("x") // the lock of that name is another one
		w.write("run0", "")
		all[0].ends(0)
		w.holdfast(0, "run", "-n", "--limit", "2", "x", "--", "true")
		w.write("run1", "")
		all[1].ends(0)
	})
}

// Several names are taken together, in whatever order they are given: nobody waits for anybody in a circle.
func TestSeveralNames(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		w.write("number", "0\n")
		var all []*running
		for i := range 20 {
			names := []string{"a", "b", "c"}
			names[0], names[i%3] = names[i%3], names[0]
			args := append(append([]string{"run"}, names[:2]...), "--", "sh", "-c", "true")
			if i%2 == 0 {
				args = append(append([]string{"run"}, names...), "--", "sh", "-c", "read n <number; echo $((n+1)) >number")
			}
			all = append(all, w.start("holdfast", args...))
		}
		for _, r := range all {
			r.ends(0)
		}
		if got := w.readFile("number"); got != "10\n" {
			t.Errorf("the number is %q, want 10", got)
		}
	})
}

// -c runs a string by $SHELL, as flock(1) does.
func TestCommandString(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.holdfast(3, "run", "x", "-c", "echo $BASH_VERSION | tr -d 0-9; exit 3"); got.out == "" || got.out == "\n" {
		t.Errorf("it prints %q; want it to be run by bash", got.out)
	}
	cmd := w.command("holdfast", "run", "x", "-c", "echo ok")
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "SHELL=")
	if got := w.startCmd(cmd).ends(0); got.out != "ok\n" {
		t.Errorf("without SHELL it prints %q", got.out)
	}
}
