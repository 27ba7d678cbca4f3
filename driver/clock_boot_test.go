package driver

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestBootIsOneClock(t *testing.T) {
	if Boot() != Boot() {
		t.Error("Boot returned two clocks: their instants could not be compared")
	}
}

func TestBootRunsLikeTimeWhileAwake(t *testing.T) {
	clock := Boot()
	before, begin := time.Now(), clock.Now()
	time.Sleep(20 * time.Millisecond)
	end, after := clock.Now(), time.Now()
	// The reading of Boot is enclosed by that of package time, so it cannot be longer; 1 ms for two clocks that are adjusted apart.
	if passed := end.Sub(begin); passed < 20*time.Millisecond-time.Millisecond || passed > after.Sub(before)+time.Millisecond {
		t.Errorf("%v passed on Boot, between 20 ms and %v on package time", passed, after.Sub(before))
	}
}

// until waits for a condition that must become true.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > generous {
			t.Fatalf("waited %v until %s", generous, what)
		}
	}
}

func ringerGoroutines() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), "(*ringer).run(")
}

// A thousand deadlines have one goroutine, and none when they are over.
func TestBootGoroutine(t *testing.T) {
	until(t, "earlier tests' goroutines are gone", func() bool { return ringerGoroutines() == 0 })
	clock := newBootClock()
	var stops []func() bool
	for i := range 1000 {
		stops = append(stops, clock.At(clock.Now().Add(time.Hour+time.Duration(i)), func() {}))
	}
	until(t, "the goroutine waits", func() bool { return ringerGoroutines() == 1 })
	for _, stop := range stops {
		if !stop() {
			t.Error("stop reports false for a deadline an hour ahead")
		}
	}
	until(t, "the goroutine is gone", func() bool { return ringerGoroutines() == 0 })
	if !clock.atRest() {
		t.Error("the goroutine is gone and the alarm is not")
	}
	rang := make(chan bool, 1)
	clock.At(clock.Now().Add(time.Millisecond), func() { rang <- true })
	receive(t, rang, "a deadline after a rest")
	until(t, "the goroutine is gone again", func() bool { return ringerGoroutines() == 0 })
}

func (r *ringer) isArmed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.alarm != nil && r.armed > 0
}

// An earlier deadline rings although the goroutine already waits for a later one.
func TestBootEarlierDeadline(t *testing.T) {
	clock := newBootClock()
	rang := make(chan time.Duration, 3)
	var stops []func() bool
	for _, d := range []time.Duration{time.Hour, 30 * time.Millisecond, 10 * time.Millisecond} {
		stops = append(stops, clock.At(clock.Now().Add(d), func() { rang <- d }))
		until(t, "the goroutine waits", clock.isArmed)
	}
	if first, second := receive(t, rang, "the first"), receive(t, rang, "the second"); first > second {
		t.Errorf("%v rang before %v", first, second)
	}
	if !stops[0]() {
		t.Error("the deadline an hour ahead rang")
	}
}

func BenchmarkBootNow(b *testing.B) {
	clock := Boot()
	b.ReportAllocs()
	for b.Loop() {
		clock.Now()
	}
}

func BenchmarkLocalNow(b *testing.B) {
	clock := Local()
	b.ReportAllocs()
	for b.Loop() {
		clock.Now()
	}
}

func BenchmarkElapsedNow(b *testing.B) {
	clock := newElapsedClock(readTime())
	b.ReportAllocs()
	for b.Loop() {
		clock.Now()
	}
}

// BenchmarkBootAt is what a lock that is taken and released costs: a deadline that is set and stopped, beside none and many others.
func BenchmarkBootAt(b *testing.B) {
	for name, others := range map[string]int{"alone": 0, "beside10000": 10000} {
		b.Run(name, func(b *testing.B) {
			clock := Boot()
			for i := range others {
				defer clock.At(clock.Now().Add(time.Hour+time.Duration(i)), func() {})()
			}
			t := clock.Now().Add(time.Minute)
			b.ReportAllocs()
			for b.Loop() {
				clock.At(t, func() {})()
			}
		})
	}
}
