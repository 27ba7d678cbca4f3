package driver

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func timerfds(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, entry := range entries {
		target, _ := os.Readlink(filepath.Join("/proc/self/fd", entry.Name())) // one that is closed meanwhile is none
		if strings.Contains(target, "timerfd") {
			n++
		}
	}
	return n
}

func TestBootFileDescriptor(t *testing.T) {
	until(t, "earlier tests' file descriptors are gone", func() bool { return timerfds(t) == 0 })
	clock := newBootClock()
	stop := clock.At(clock.Now().Add(time.Hour), func() {})
	other := clock.At(clock.Now().Add(time.Hour), func() {})
	if n := timerfds(t); n != 1 {
		t.Errorf("%d timerfds are open, want 1: is CLOCK_BOOTTIME refused here?", n)
	}
	info, err := os.ReadFile(filepath.Join("/proc/self/fdinfo", strconv.Itoa(clock.alarm.(*timerfd).fd)))
	if err != nil || !strings.Contains(string(info), "clockid: 7\n") {
		t.Errorf("the timerfd is not one of CLOCK_BOOTTIME, so it stands still in a suspend: %v\n%s", err, info)
	}
	stop()
	other()
	until(t, "the file descriptor is closed", func() bool { return timerfds(t) == 0 })
}

func TestBootReadsBoottime(t *testing.T) {
	before, errno := boottime()
	if errno != 0 {
		t.Fatal(errno)
	}
	now := Boot().Now()
	after, _ := boottime()
	if now < before || now > after {
		t.Errorf("Boot shows %d, CLOCK_BOOTTIME %d to %d", now, before, after)
	}
}

// Zero would disarm a timerfd, and negative times are refused: both must ring while the goroutine waits, and leave the alarm whole.
func TestBootRingsBeforeTheBeginning(t *testing.T) {
	clock := newBootClock()
	defer clock.At(clock.Now().Add(time.Hour), func() {})()
	for _, at := range []Instant{0, -1, math.MinInt64} {
		until(t, "the goroutine waits", clock.isArmed)
		rang := make(chan bool, 1)
		clock.At(at, func() { rang <- true })
		receive(t, rang, "a deadline before the beginning")
	}
	clock.mu.Lock()
	defer clock.mu.Unlock()
	if _, ok := clock.alarm.(*timerfd); !ok {
		t.Error("the timerfd was replaced")
	}
}

// Without a free file descriptor deadlines still ring, by a ticker.
func TestBootWithoutFileDescriptors(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	clock := newBootClock()
	rang := make(chan Instant, 1)
	at := clock.Now().Add(5 * time.Millisecond)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	clock.At(at, func() { rang <- clock.Now() })
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	clock.mu.Lock()
	_, ticks := clock.alarm.(*ticker)
	clock.mu.Unlock()
	if !ticks {
		t.Error("the alarm is no ticker: this test does not test what it should")
	}
	if now := receive(t, rang, "a deadline without timerfd"); now < at {
		t.Errorf("rang %v too early", at.Sub(now))
	}
}

// A timerfd that fails while deadlines are pending is replaced, and nothing is lost.
func TestBootReplacesATimerfd(t *testing.T) {
	clock := newBootClock()
	rang := make(chan Instant, 1)
	at := clock.Now().Add(50 * time.Millisecond)
	clock.At(at, func() { rang <- clock.Now() })
	clock.mu.Lock()
	broken := clock.alarm.(*timerfd)
	broken.close()
	clock.mu.Unlock()
	if now := receive(t, rang, "a deadline after its timerfd failed"); now < at {
		t.Errorf("rang %v too early", at.Sub(now))
	}
}

// A setting that the kernel refuses ends wait, so that the ringer learns of it.
func TestTimerfdRefusedSetting(t *testing.T) {
	alarm, err := openTimerfd()
	if err != nil {
		t.Fatal(err)
	}
	alarm.fd = -1
	alarm.set(1)
	if alarm.wait() {
		t.Error("wait reports an alarm that was never set")
	}
	other, err := openTimerfd() // a stranger's file with the same number
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	alarm.fd = other.fd
	alarm.set(1)
	if err := other.file.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if other.wait() {
		t.Error("a closed alarm set a file that is not its own")
	}
}
