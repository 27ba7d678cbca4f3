//go:build linux

package filelock_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What is measured is measured by make bench, and asserted nowhere: machines differ.
//
//	make bench BENCH='^Benchmark(HandOver|TakeOver|Waiting|Pair)$'

var measureFor = flag.Duration("measure.for", 5*time.Second, "for how long BenchmarkHandOver runs, and half as long as BenchmarkWaiting does")

// percentiles reports what is usual and what is rare, in milliseconds.
func percentiles(b *testing.B, times []time.Duration) {
	slices.Sort(times)
	n := len(times)
	for _, p := range []struct {
		name string
		at   int
	}{{"p50-ms", n / 2}, {"p99-ms", n * 99 / 100}, {"max-ms", n - 1}} {
		b.ReportMetric(float64(times[p.at])/1e6, p.name)
	}
	b.ReportMetric(float64(n), "times")
	b.ReportMetric(0, "ns/op") // it would include starting the processes
}

// BenchmarkHandOver: 33 processes want one lock all the time, so that 32 wait. Measured is from the call of Unlock in one process to
// the return of Lock in the next.
func BenchmarkHandOver(b *testing.B) {
	var times []time.Duration
	for b.Loop() {
		times = append(times, handOvers(b, 33)...)
	}
	percentiles(b, times)
}

func handOvers(b *testing.B, processes int) (times []time.Duration) {
	dir, files := newDir(b), b.TempDir()
	todo := task{Do: "hammer", Dir: dir, Name: "lock", Log: write(b, filepath.Join(files, "log"), "")}
	var all []*party
	for i := range processes {
		todo.ID, todo.Records = i, filepath.Join(files, fmt.Sprint("records", i))
		all = append(all, spawn(b, todo))
	}
	each(b, all, "ready")
	end := now().Add(*measureFor)
	for _, p := range all {
		p.tell(order{Until: end})
	}
	var turns []turn
	for i, p := range all {
		p.hears("done", "")
		these, err := readTurns(filepath.Join(files, fmt.Sprint("records", i)))
		must(b, err)
		turns = append(turns, these...)
		p.kill()
	}
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.Token, b.Token) })
	turns = turns[len(turns)/10 : len(turns)*9/10] // while all of them are there
	for i := 1; i < len(turns); i++ {
		times = append(times, turns[i].Granted.Sub(turns[i-1].Unlocks))
	}
	return times
}

// BenchmarkTakeOver: the holder is killed (kill −9) while 32 others wait, again and again. Measured is from just before the signal to
// the return of Lock in the next process.
func BenchmarkTakeOver(b *testing.B) {
	dir := newDir(b)
	holder := there(b, dir)
	holder.holds("lock", "lock")
	var queue []*party
	join := func() {
		p := there(b, dir)
		p.queues("lock", "lock")
		queue = append(queue, p)
	}
	for range 32 {
		join()
	}
	var times []time.Duration
	for b.Loop() {
		next := queue[0]
		queue = queue[1:]
		killed := holder.dies()
		times = append(times, next.hears("granted", "lock").At.Sub(killed))
		holder = next
		join()
	}
	percentiles(b, times)
}

// BenchmarkWaiting: what 32 processes use that do nothing but wait for a lock: ticks of the processor (a hundred a second), and how
// often they were woken.
func BenchmarkWaiting(b *testing.B) {
	const processes = 32
	dir := newDir(b)
	holder := there(b, dir)
	holder.holds("lock", "lock")
	var all []*party
	for range processes {
		p := there(b, dir)
		p.queues("lock", "lock")
		all = append(all, p)
	}
	<-time.After(time.Second) // until what the start had to do is over
	usages := func() (ticks, switches int) {
		for _, p := range all {
			used, woken := usage(b, p.pid())
			ticks, switches = ticks+used, switches+woken
		}
		return ticks, switches
	}
	ticks, switches := usages()
	began := now()
	for b.Loop() {
		<-time.After(2 * *measureFor)
	}
	seconds := now().Sub(began).Seconds()
	moreTicks, moreSwitches := usages()
	b.ReportMetric(float64(moreTicks-ticks), "ticks")
	b.ReportMetric(float64(moreSwitches-switches)/processes/seconds, "wakes/process/s")
	b.ReportMetric(seconds, "seconds")
	b.ReportMetric(0, "ns/op")
}

// usage is how much processor time a process has used, in ticks, and how often its threads went to sleep.
func usage(t testing.TB, pid int) (ticks, switches int) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must(t, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, field := range fields[11:13] { // utime, stime
		n, err := strconv.Atoi(field)
		must(t, err)
		ticks += n
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	must(t, err)
	for _, path := range threads {
		status, err := os.ReadFile(path)
		must(t, err)
		for line := range strings.Lines(string(status)) {
			if text, found := strings.CutPrefix(line, "voluntary_ctxt_switches:"); found {
				n, err := strconv.Atoi(strings.TrimSpace(text))
				must(t, err)
				switches += n
			}
		}
	}
	return ticks, switches
}
