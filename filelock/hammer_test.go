//go:build linux

package filelock_test

import (
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
)

var (
	hammerFor       = flag.Duration("hammer.for", 1500*time.Millisecond, "for how long the processes of TestHammer hammer the lock")
	hammerProcesses = flag.Int("hammer.processes", 500, "how many processes TestHammer starts")
)

// TestHammer: many processes hammer one lock. No update is lost on a file that nothing else protects, nobody overtakes, tokens rise in
// the order in which they are used, everybody gets a fair share, and no file is left.
//
//	go test ./filelock -run '^TestHammer$' -v -hammer.for=1m
func TestHammer(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of processes")
	}
	dir, files := newDir(t), t.TempDir()
	todo := task{Do: "hammer", Dir: dir, Name: "lock", Counter: filepath.Join(files, "counter"), Log: filepath.Join(files, "log")}
	for file, contents := range map[string]string{todo.Counter: "0", todo.Log: ""} {
		if err := os.WriteFile(file, []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var all []*party
	for i := range *hammerProcesses {
		todo.ID, todo.Records = i, filepath.Join(files, fmt.Sprint("records", i))
		all = append(all, spawn(t, todo))
	}
	each(t, all, "ready")
	end := now().Add(*hammerFor)
	for _, p := range all {
		p.tell(order{Until: end})
	}
	<-time.After(*hammerFor) // patience begins when they ought to be ready
	each(t, all, "done")
	nothingLeft(t, dir)

	var turns []turn
	for i := range all {
		these, err := readTurns(filepath.Join(files, fmt.Sprint("records", i)))
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, these...)
	}
	if len(turns) < len(all) {
		t.Fatalf("%d processes got the lock %d times: that proves nothing", len(all), len(turns))
	}
	if text, err := os.ReadFile(todo.Counter); err != nil || string(text) != strconv.Itoa(len(turns)) {
		t.Errorf("%d holds raised a number to %s, %v: updates were lost", len(turns), text, err)
	}
	checkUse(t, todo.Log, turns)
	checkOvertaking(t, turns)
	checkShares(t, turns, len(all))
}

// each waits until all processes have said something.
func each(t testing.TB, all []*party, said string) {
	t.Helper()
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, p := range all {
		wait.Go(func() { _, errs[i] = p.listenFor(said, "") })
	}
	wait.Wait()
	missing := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(missing) > 0 {
		t.Fatalf("of %d processes %d did not say %q; one of them: %v", len(all), len(missing), said, missing[0])
	}
}

// checkUse checks that tokens rose in the order in which they were used, and that all that were granted are there.
func checkUse(t *testing.T, log string, turns []turn) {
	t.Helper()
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	tokens := make([]uint64, len(raw)/8)
	if _, err := binary.Decode(raw, binary.LittleEndian, tokens); err != nil || len(tokens) != len(turns) {
		t.Fatalf("%d holds were logged %d times, %v", len(turns), len(tokens), err)
	}
	for i := 1; i < len(tokens); i++ {
		if tokens[i] <= tokens[i-1] {
			t.Errorf("token %d was used after token %d", tokens[i], tokens[i-1])
		}
	}
}

// checkOvertaking finds waiters that were overtaken: whoever certainly had a place before another even asked must have the smaller
// token. There is no race in that: everything is judged by one clock, and what is not certain is not judged.
func checkOvertaking(t *testing.T, turns []turn) {
	t.Helper()
	overtaken := overtakings(turns)
	for _, pair := range overtaken[:min(len(overtaken), 5)] {
		first, second := pair[0], pair[1]
		t.Errorf("process %d had its place %v before process %d asked, and was served after it: tokens %d, %d",
			first.Process, second.Called.Sub(first.Queued), second.Process, first.Token, second.Token)
	}
	if len(overtaken) > 0 {
		t.Errorf("%d of %d were served before somebody who had come before them", len(overtaken), len(turns))
	}
}

// overtakings returns for each turn that overtook others one of those.
func overtakings(turns []turn) (found [][2]turn) {
	byQueued, byCalled := slices.Clone(turns), slices.Clone(turns)
	slices.SortFunc(byQueued, func(a, b turn) int { return cmp.Compare(a.Queued, b.Queued) })
	slices.SortFunc(byCalled, func(a, b turn) int { return cmp.Compare(a.Called, b.Called) })
	var latest turn // of those queued before the next one asked, the one with the greatest token
	i := 0
	for _, this := range byCalled {
		for ; i < len(byQueued) && byQueued[i].Queued.Before(this.Called); i++ {
			if byQueued[i].Token > latest.Token {
				latest = byQueued[i]
			}
		}
		if latest.Token > this.Token {
			found = append(found, [2]turn{latest, this})
		}
	}
	return found
}

// checkShares compares how often each process got the lock while all of them wanted it. A process that is late at coming back after
// its turn misses a round, so shares differ; in a queue without order they would differ by far more.
func checkShares(t *testing.T, turns []turn, processes int) {
	t.Helper()
	first := make([]driver.Instant, processes)
	last := make([]driver.Instant, processes)
	for i := range first {
		first[i] = driver.Never
	}
	for _, this := range turns {
		first[this.Process] = min(first[this.Process], this.Queued)
		last[this.Process] = max(last[this.Process], this.Granted)
	}
	from, to := slices.Max(first), slices.Min(last)
	shares := make([]int, processes)
	within := 0
	for _, this := range turns {
		if !this.Granted.Before(from) && !to.Before(this.Granted) {
			shares[this.Process]++
			within++
		}
	}
	least, most := slices.Min(shares), slices.Max(shares)
	t.Logf("%d processes, %d holds; while all wanted it, %d in %v, from %d to %d for each", processes, len(turns), within, to.Sub(from), least, most)
	if most > 3*least+3 {
		t.Errorf("while all processes wanted the lock one got it %d times, another %d times", least, most)
	}
}

// TestOvertakings proves that the judge of TestHammer can condemn.
func TestOvertakings(t *testing.T) {
	a := turn{Process: 1, Called: 10, Queued: 20, Granted: 90, Token: 5}
	b := turn{Process: 2, Called: 30, Queued: 40, Granted: 80, Token: 4}
	unsure := turn{Process: 2, Called: 15, Queued: 40, Granted: 80, Token: 4}
	fair := turn{Process: 2, Called: 30, Queued: 40, Granted: 100, Token: 6}
	for _, tt := range []struct {
		name  string
		turns []turn
		want  int
	}{
		{"overtaken", []turn{a, b}, 1},
		{"overtaken, told the other way round", []turn{b, a}, 1},
		{"both were on their way", []turn{a, unsure}, 0},
		{"in order", []turn{a, fair}, 0},
	} {
		if found := overtakings(tt.turns); len(found) != tt.want {
			t.Errorf("%s: %d overtakings found, want %d: %v", tt.name, len(found), tt.want, found)
		}
	}
}
