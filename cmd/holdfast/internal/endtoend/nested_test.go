//go:build linux

package endtoend_test

import (
	"testing"
)

// A run inside a run of the same name would wait for itself for ever: it is refused at once, however many lie between. Whatever
// could not wait for itself is not.
func TestNested(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		for line, code := range map[string]int{
			"holdfast run x -- holdfast run x -- true":                                          1,
			"holdfast run x -- holdfast run -E 9 x -- true":                                     9,
			"holdfast run x -- sh -c 'holdfast run x -- true; exit $?'":                         1,
			"holdfast run x -- holdfast run y -- holdfast run x -- true":                        1,
			"holdfast run x y -- holdfast run y -- true":                                        1,
			"holdfast run y -- holdfast run x y -- true":                                        1,
			"holdfast run -s x -- holdfast run x -- true":                                       1,
			"holdfast run x -- holdfast run -s x -- true":                                       1,
			"holdfast run -s x -- holdfast run -s x -- true":                                    1,
			"holdfast run x -- holdfast run y -- true":                                          0,
			"holdfast run x -- holdfast run xx -- sh -c 'exit 5'":                               5,
			"holdfast run x -- holdfast run --store file://$HOME/other x -- true":               0,
			"holdfast run --store file://$HOME/other x -- holdfast run x -- true":               0,
			"holdfast run x -- env -u HOLDFAST_HELD holdfast run -n x -- true":                  1,
			"holdfast run x -- true; holdfast run x -- holdfast run y -- true":                  0,
			"export \"$(holdfast run x -- env | grep ^HOLDFAST_HELD)\"; holdfast run x -- true": 0,
			"export HOLDFAST_HELD=nonsense; holdfast run x -- true":                             0,
			"export HOLDFAST_HELD=; holdfast run x -- holdfast run x -- true":                   1,
		} {
			if got := w.start("sh", "-c", line).ends(code); code == 1 && got.errors == "" {
				t.Errorf("%s: it says nothing", line)
			}
		}
		w.isFree("x")
	})
}

// A run inside a run ends with it: TERM reaches the inner command, and the codes are passed outwards.
func TestNestedSignals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("holdfast run x -- holdfast run y -- actor -read $J a\n")
	inner, command := w.programOf("a")
	outer := process{inner.parent()}
	x.hasForeground(command.pid)
	x.enter(controlZ)
	x.expect("Stopped")
	x.prompt()
	stopped(t, outer, inner, command)
	x.enter("fg\n")
	x.hasForeground(command.pid)
	x.enter("hello\n")
	w.await("a", "line hello", 1)
	x.enter(controlC)
	x.prompts(130)
	if got := w.saw("a", "got INT"); got != 1 {
		t.Errorf("the command got INT %d times, want once", got)
	}
	w.isFree("x")
	w.isFree("y")
}

// kill −9 of the outer program ends the inner one and its command too, before another run of either name begins.
func TestNestedKill(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		outer := w.start("holdfast", "run", "--ttl", "4s", "--grace", "0.2s", "x", "--", "holdfast", "run", "--ttl", "4s", "--grace", "0.2s", "y", "--",
			"actor", "-stubborn", "-beat", "-children", "1", w.journal, "a")
		w.cast("a", 2)
		next := w.start("holdfast", "run", "x", "--", "actor", "-leave", w.journal, "next")
		outer.cmd.Process.Kill()
		outer.ends(137)
		next.ends(0)
		w.holdfast(0, "run", "y", "--", "actor", "-leave", w.journal, "last")
		w.apart()
	})
}
