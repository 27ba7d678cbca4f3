//go:build linux

package endtoend_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// killed is how many milliseconds after its start a program is killed at the latest, where the moment is random: longer than it
// takes until the command runs.
const killed = 60

// The rule of all tests here: whatever happens to the program, no process of its command's group lives when another run of the same
// name begins. The actors beat each millisecond, so their journal shows for how long they lived.

// kill −9 at any moment, also before the command has begun: the group is dead before another run begins, also those of it that
// ignore every signal.
func TestKill(t *testing.T) {
	t.Parallel()
	w, random := newWorld(t), newRandom(t)
	began := 0
	for i := range *rounds {
		w.killOne(random, i, "x", fmt.Sprint("run", i)).ends(0)
		if i%25 == 24 || i == *rounds-1 {
			w.apart()
			began += w.begun()
			w.journal = w.path(fmt.Sprint("journal", i)) // a long one takes long to read, over and over
		}
	}
	tried(t, began)
}

// The same where nothing but the end of a TTL frees the lock of a program that was killed.
func TestKillServed(t *testing.T) {
	t.Parallel()
	w, random := newServedWorld(t), newRandom(t)
	var after []*running
	for i := range max(*rounds/5, 5) { // each waits for the end of a TTL, so they do it together
		run := fmt.Sprint("run", i)
		after = append(after, w.killOne(random, i, run, run))
	}
	for i, next := range after {
		next.ends(0)
		run := fmt.Sprint("run", i)
		w.apart(run, run+"-next")
	}
	tried(t, w.begun())
}

// killOne starts a run and kills it at a random moment, of another kind for each n. It returns another one, of the same name, that waits
// meanwhile.
func (w *world) killOne(random *rand.Rand, n int, name, run string) *running {
	w.t.Helper()
	victim := w.start("holdfast", "run", "-q", "--ttl", "4s", "--grace", "0.2s", name, "--", "actor", "-stubborn", "-beat", "-children", "2", w.journal, run)
	switch n % 3 {
	case 0:
		pause(random, killed)
	case 1: // it starts its guard and its command now
		until(w.t, "it has a child", func() bool { return victim.process().hasChild() })
		pause(random, 5)
	case 2:
		w.await(run, "start", 1+random.IntN(3))
		pause(random, 5)
	}
	next := w.start("holdfast", "run", "-q", name, "--", "actor", "-leave", w.journal, run+"-next")
	pause(random, 5)
	victim.kill(unix.SIGKILL)
	victim.ends(128 + int(unix.SIGKILL))
	return next
}

// begun is how many of those that were killed had begun their commands.
func (w *world) begun() int {
	w.t.Helper()
	runs := make(map[string]bool)
	for _, e := range w.entries() {
		if !strings.HasSuffix(e.run, "-next") {
			runs[e.run] = true
		}
	}
	return len(runs)
}

// tried checks that there was something to be killed.
func tried(t *testing.T, began int) {
	t.Helper()
	if t.Logf("the commands of %d runs had begun", began); began == 0 {
		t.Error("nothing was tried")
	}
}

// Two that wait and one that holds, all killed but one at the same time: the last one begins when the group is dead.
func TestKillAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client()
	for i := range max(*rounds/10, 1) {
		run := fmt.Sprint("run", i)
		holder := w.start("holdfast", "run", "x", "--", "actor", "-stubborn", "-beat", "-children", "2", w.journal, run)
		w.cast(run, 3)
		all := []*running{holder}
		for j := range 3 {
			all = append(all, w.start("holdfast", "run", "x", "--", "actor", "-leave", w.journal, fmt.Sprint(run, "-", j)))
			w.awaitWaiters(client, "x", j+1)
		}
		for j := range 3 {
			all[2-j].kill(unix.SIGKILL) // the holder last: nobody may get the lock before it is killed
		}
		for _, r := range all[:3] {
			r.ends(128 + int(unix.SIGKILL))
		}
		all[3].ends(0)
		if got := w.saw(run+"-0", "start") + w.saw(run+"-1", "start"); got > 0 {
			t.Error("the command of a run that was killed while it waited began")
		}
	}
	w.apart()
}

// A program that is stopped for longer than its TTL: the group is dead before another run begins, and when the program goes on it
// says that the lock is lost.
func TestSuspendedProgram(t *testing.T) {
	t.Parallel()
	w := newServedWorld(t)
	victim := w.start("holdfast", "run", "--ttl", "3s", "x", "--", "actor", "-stubborn", "-beat", "-children", "2", w.journal, "a")
	cast := w.cast("a", 3)
	victim.kill(unix.SIGSTOP)
	stopped(t, victim.process())
	w.holdfast(0, "run", "x", "--", "actor", "-leave", w.journal, "next")
	for _, p := range cast {
		if p.alive() {
			t.Errorf("%v lives after another run", p)
		}
	}
	victim.kill(unix.SIGCONT)
	victim.ends(75)
	w.apart()
}

// ^Z for longer than the TTL is the same: fg then tells of the loss.
func TestStoppedForTooLong(t *testing.T) {
	t.Parallel()
	w := newServedWorld(t)
	x := w.terminal()
	x.enter("holdfast run --ttl 3s x -- actor -beat $J a\n")
	program, command := w.programOf("a")
	x.hasForeground(command.pid)
	x.enter(controlZ)
	x.expect("Stopped")
	x.prompt()
	stopped(t, program)
	w.holdfast(0, "run", "x", "--", "actor", "-leave", w.journal, "next")
	if command.alive() {
		t.Error("the command lives after another run")
	}
	x.enter("fg\n")
	x.prompts(75)
	w.apart()
}

// A store without TTLs lets a stopped program have the lock for as long as it takes.
func TestStoppedForLongOnADirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start("holdfast", "run", "--ttl", "0.5s", "x", "--", "actor", "-beat", "-until", w.path("end"), w.journal, "a")
	w.cast("a", 1)
	r.kill(unix.SIGSTOP)
	stopped(t, r.process())
	begin := bootTime()
	until(t, "it has beaten for longer than the TTL", func() bool {
		all := w.entries()
		return all[len(all)-1].at > begin+time.Second
	})
	w.holdfast(1, "run", "-n", "x", "--", "true")
	w.write("end", "")
	r.kill(unix.SIGCONT)
	r.ends(0)
}

// A command that starts more and more processes is killed with all of them.
func TestKillForking(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		r := w.start("holdfast", "run", "--ttl", "4s", "--grace", "0.2s", "x", "--", "sh", "-c",
			"echo $$ >leader; n=0; while [ $n -lt 500 ]; do n=$((n+1)); (trap '' TERM; sleep 1000; true) & done; wait")
		until(t, "it has begun", func() bool { return unix.Access(w.path("leader"), unix.R_OK) == nil && w.readFile("leader") != "" })
		group, err := strconv.Atoi(strings.TrimSpace(w.readFile("leader")))
		if err != nil {
			t.Fatal(err)
		}
		members := func(p process) bool { return p.group() == group && p.alive() }
		until(t, "there are many", func() bool { return len(processes(members)) > 30 })
		next := w.start("holdfast", "run", "x", "--", "actor", "-leave", "-count", fmt.Sprint(group), w.journal, "next")
		r.kill(unix.SIGKILL)
		r.ends(137)
		next.ends(0)
		if w.saw("next", "counts 0") != 1 {
			t.Errorf("when another run had begun there were others left: %v", w.entries())
		}
	})
}

// The command alone is killed: what it has started keeps the lock until that ends too; the code is the command's.
func TestKilledCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start("holdfast", "run", "x", "--", "actor", "-children", "1", "-until", w.path("end"), w.journal, "a")
	cast := w.cast("a", 2)
	if err := unix.Kill(cast[0].pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the command is dead", func() bool { return !cast[0].alive() })
	w.holdfast(1, "run", "-n", "x", "--", "true")
	w.write("end", "")
	r.ends(137)
	w.isFree("x")
}

// A program that is stopped for less than its TTL has lost nothing.
func TestSuspendedBriefly(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		r := w.start("holdfast", "run", "--ttl", "60s", "x", "--", "actor", "-until", w.path("end"), w.journal, "a")
		w.cast("a", 1)
		for range 3 {
			r.kill(unix.SIGSTOP)
			stopped(t, r.process())
			r.kill(unix.SIGCONT)
			until(t, "it goes on", func() bool { return !r.process().isStopped() })
		}
		w.write("end", "")
		r.ends(0)
	})
}

// --max-hold holds for a program that is stopped, too: the guard ends the command.
func TestMaxHoldWhileSuspended(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		r := w.start("holdfast", "run", "--max-hold", "2s", "x", "--", "actor", "-stubborn", "-beat", "-children", "1", w.journal, "a")
		cast := w.cast("a", 2)
		r.kill(unix.SIGSTOP)
		stopped(t, r.process())
		until(t, "the group is dead", func() bool { return !cast[0].alive() && !cast[1].alive() })
		r.kill(unix.SIGCONT)
		r.ends(75)
		if lived := w.last("a") - w.when("a", "start"); lived < 500*time.Millisecond {
			t.Errorf("the command lived for %v", lived)
		}
	})
}
