package waiting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/say"
	"holdfast.dev/driver"
)

// A page keeps what was printed.
type page struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// take returns what was printed since the last time.
func (p *page) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.text.Reset()
	return p.text.String()
}

type fakeScreen struct {
	width int
	plain atomic.Bool
}

func (s *fakeScreen) Width() int    { return s.width }
func (s *fakeScreen) InPlace() bool { return !s.plain.Load() }

// after lets time pass, and returns what was printed meanwhile.
func (p *page) after(d time.Duration) string {
	time.Sleep(d)
	synctest.Wait()
	return p.take()
}

func waits(name string, waited time.Duration, p holdfast.Progress) holdfast.Event {
	return holdfast.Event{Kind: holdfast.EventWaiting, Name: name, Mode: holdfast.Exclusive, Waited: waited, Progress: p}
}

var heldByBackup = holdfast.Progress{Place: 2, Holders: []holdfast.Holder{{Label: "host:1 backup", Held: 30 * time.Second, Left: driver.Forever}}}

// status is how a line looks that is rewritten in place.
func status(text string) string { return "\rholdfast: " + text + "\x1b[K" }

const wiped = "\r\x1b[K"

func expect(t *testing.T, step, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: printed %q, want %q", step, got, want)
	}
}

func TestStatusLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(page)
		d := newDisplay(say.New(p), false, &fakeScreen{width: 200})
		since := time.Now().Add(-30 * time.Second).Format("15:04:05")
		d.Observe(t.Context(), waits("x", 0, heldByBackup))
		expect(t, "before a second", p.after(999*time.Millisecond), "")
		expect(t, "after a second", p.after(time.Millisecond),
			status(`"x": place 2, held since `+since+` by host:1 backup, waiting for 1.0s`))
		expect(t, "a second later", p.after(time.Second),
			status(`"x": place 2, held since `+since+` by host:1 backup, waiting for 2.0s`))
		d.Observe(t.Context(), waits("x", 2*time.Second, holdfast.Progress{Place: 1}))
		expect(t, "news are shown at once", p.after(0), status(`"x": place 1, waiting for 2.0s`))
		d.Done()
		expect(t, "Done wipes it", p.take(), wiped)
		d.Done()
		d.Observe(t.Context(), waits("x", 0, heldByBackup))
		expect(t, "nothing after Done", p.after(time.Hour), "")
	})
}

func TestShortWaitsAreNotWorthAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(page)
		d := newDisplay(say.New(p), true, &fakeScreen{width: 80})
		d.Observe(t.Context(), waits("x", 0, heldByBackup))
		time.Sleep(900 * time.Millisecond)
		d.Done()
		expect(t, "a short wait", p.after(time.Minute), "")
		newDisplay(say.New(p), true, nil).Done() // nothing happened at all
	})
}

// What was waited for before the display heard of it counts too.
func TestWaitedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(page)
		d := newDisplay(say.New(p), true, nil)
		d.Observe(t.Context(), waits("x", 5*time.Second, holdfast.Progress{}))
		expect(t, "at once", p.after(0), "holdfast: \"x\": waiting for 5.0s\n")
		d.Done()
	})
}

func TestWithoutATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, p := new(page), new(page)
		quiet := say.New(silent)
		quiet.SetQuiet(true)
		displays := []*Display{newDisplay(say.New(silent), false, nil), newDisplay(quiet, true, nil), newDisplay(quiet, true, &fakeScreen{width: 80})}
		verbose := newDisplay(say.New(p), true, nil)
		for _, d := range append(displays, verbose) {
			d.Observe(t.Context(), waits("x", 0, holdfast.Progress{Place: 3}))
		}
		expect(t, "verbose", p.after(time.Second), "holdfast: \"x\": place 3, waiting for 1.0s\n")
		verbose.Observe(t.Context(), waits("x", 0, holdfast.Progress{Place: 2}))
		expect(t, "only once", p.after(time.Hour), "")
		verbose.Observe(t.Context(), waits("y", time.Second, holdfast.Progress{}))
		expect(t, "another lock", p.after(0), "holdfast: \"y\": waiting for 1.0s\n")
		for _, d := range append(displays, verbose) {
			d.Done()
		}
		expect(t, "quiet, or not asked for", silent.take(), "")
		expect(t, "Done", p.take(), "")
	})
}

// On a dumb terminal, and in the background, lines are not rewritten; and a line that was left there is not wiped.
func TestPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(page)
		screen := &fakeScreen{width: 80}
		d := newDisplay(say.New(p), false, screen)
		d.Observe(t.Context(), waits("x", 0, holdfast.Progress{}))
		expect(t, "in the foreground", p.after(time.Second), status(`"x": waiting for 1.0s`))
		screen.plain.Store(true)
		expect(t, "to the background", p.after(time.Second), "holdfast: \"x\": waiting for 2.0s\n")
		expect(t, "a minute", p.after(59*time.Second), "")
		expect(t, "after a minute", p.after(time.Second), "holdfast: \"x\": waiting for 1m02s\n")
		screen.plain.Store(false)
		expect(t, "back", p.after(time.Second), status(`"x": waiting for 1m03s`))
		screen.plain.Store(true)
		d.Done()
		expect(t, "Done in the background", p.take(), "")
	})
}

// Several locks are waited for one after the other: the one that is waited for now is shown.
func TestSeveralLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(page)
		d := newDisplay(say.New(p), false, &fakeScreen{width: 80})
		d.Observe(t.Context(), waits("a", 0, holdfast.Progress{}))
		expect(t, "the first", p.after(time.Second), status(`"a": waiting for 1.0s`))
		d.Observe(t.Context(), holdfast.Event{Kind: holdfast.EventAcquired, Name: "a", Mode: holdfast.Permits})
		expect(t, "the semaphore of that name is another", p.after(0), "")
		d.Observe(t.Context(), holdfast.Event{Kind: holdfast.EventAcquired, Name: "a", Mode: holdfast.Exclusive})
		expect(t, "got", p.after(0), wiped)
		d.Observe(t.Context(), holdfast.Event{Kind: holdfast.EventRenewed, Name: "a"})
		d.Observe(t.Context(), waits("b", 0, holdfast.Progress{}))
		expect(t, "patience begins anew", p.after(999*time.Millisecond), "")
		expect(t, "the second", p.after(time.Millisecond), status(`"b": waiting for 1.0s`))
		d.Observe(t.Context(), holdfast.Event{Kind: holdfast.EventFailed, Name: "b", Mode: holdfast.Exclusive})
		expect(t, "given up", p.after(0), wiped)
		d.Done()
		expect(t, "Done", p.take(), "")
	})
}

// A store that does not answer is told about, terminal or not, once for each problem.
func TestProblems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(page)
		d := newDisplay(say.New(p), false, nil)
		fails := func(text string) {
			d.Observe(t.Context(), holdfast.Event{Kind: holdfast.EventRetried, Name: "x", Err: errors.New(text)})
		}
		fails("holdfast: lock: refused by 127.0.0.1:4711\x1b")
		expect(t, "a problem", p.after(0), `holdfast: lock: refused by 127.0.0.1:4711\x1b; trying again`+"\n")
		fails("holdfast: lock: refused by 127.0.0.1:52\x1b")
		expect(t, "the same but for its port", p.after(time.Minute), "")
		fails("time-out")
		expect(t, "another", p.after(0), "holdfast: time-out; trying again\n")
		d.Observe(t.Context(), waits("x", 0, holdfast.Progress{}))
		fails("time-out")
		expect(t, "it had answered meanwhile", p.after(0), "holdfast: time-out; trying again\n")
		d.Done()
	})
}

// What comes after Done begins nothing, also if nothing had begun before.
func TestDoneBeforeAnything(t *testing.T) {
	p := new(page)
	d := newDisplay(say.New(p), true, nil)
	d.Done()
	d.Observe(t.Context(), waits("x", time.Hour, heldByBackup))
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun || p.take() != "" {
		t.Error("news after Done were taken")
	}
}

// A pipe that nobody reads blocks neither Observe nor, for ever, Done.
func TestBlockedOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		d := newDisplay(say.New(writer), true, nil)
		d.Observe(t.Context(), waits("x", time.Minute, holdfast.Progress{}))
		synctest.Wait() // it is printing
		begun := time.Now()
		d.Observe(t.Context(), waits("x", time.Minute, holdfast.Progress{}))
		if time.Since(begun) != 0 {
			t.Error("Observe blocked")
		}
		d.Done()
		if took := time.Since(begun); took != lastWord {
			t.Errorf("Done took %v, want %v", took, lastWord)
		}
		reader.Close()
	})
}

// News that waited while something was being printed are not printed after Done: the lock is held by then.
func TestDoneBeforeOtherNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 40 { // quit and the news are there together, and a select takes either
			reader, writer := io.Pipe()
			d := newDisplay(say.New(writer), true, nil)
			d.Observe(t.Context(), waits("first", time.Minute, holdfast.Progress{}))
			synctest.Wait() // it is printing
			d.Observe(t.Context(), waits("second", time.Minute, holdfast.Progress{}))
			go func() {
				d.Done()
				writer.Close()
			}()
			synctest.Wait()
			printed, err := io.ReadAll(reader)
			if want := "holdfast: \"first\": waiting for 1m00s\n"; err != nil || string(printed) != want {
				t.Fatalf("printed %q, %v; want %q", printed, err, want)
			}
		}
	})
}

// Whatever happens at the same time as Done: afterwards nothing is printed.
func TestNothingAfterDone(t *testing.T) {
	for range 300 {
		p := new(page)
		d := newDisplay(say.New(p), true, &fakeScreen{width: 80})
		var group sync.WaitGroup
		for w := range 3 {
			group.Go(func() {
				for n := range 20 {
					d.Observe(context.Background(), waits(fmt.Sprint(w, n), time.Hour, heldByBackup))
					d.Observe(context.Background(), holdfast.Event{Kind: holdfast.EventRetried, Err: fmt.Errorf("problem %c%c", 'a'+w, 'a'+n)})
				}
			})
		}
		d.Done()
		p.take()
		group.Wait()
		d.Observe(context.Background(), waits("late", time.Hour, heldByBackup))
		d.Done()
		if late := p.take(); late != "" {
			t.Fatalf("printed after Done: %q", late)
		}
	}
}

// A guard is told at once, with a terminal or without, asked for or not, and once for each lock; not if it is quiet.
func TestGuardIsTold(t *testing.T) {
	const left = 28 * time.Second
	explained := func(name, left string) string {
		why := map[string]string{"x": "this Redis started 2s ago", "y": "the store has just begun to serve"}[name]
		return "holdfast: \"" + name + "\": " + why + "; locks granted before may still be valid: " + left +
			" left; guard= sets it (in the store's URL; the first to use a store sets it for all)\n"
	}
	synctest.Test(t, func(t *testing.T) {
		p, silent := new(page), new(page)
		quiet := say.New(silent)
		quiet.SetQuiet(true)
		hushed := newDisplay(quiet, true, nil)
		for _, d := range []*Display{newDisplay(say.New(p), false, nil), newDisplay(say.New(p), false, &fakeScreen{width: 200})} {
			d.Observe(t.Context(), waits("x", 0, holdfast.Progress{Place: 1, Guard: left, Why: "this Redis started 2s ago"}))
			expect(t, "at once", p.after(0), explained("x", "28s"))
			d.Observe(t.Context(), waits("x", 0, holdfast.Progress{Place: 1, Guard: left}))
			expect(t, "only once", p.after(999*time.Millisecond), "")
			if d.screen != nil {
				expect(t, "after a second", p.after(time.Millisecond),
					status(`"x": place 1, nothing is granted for another 27s (guard=), waiting for 1.0s`))
			}
			d.Observe(t.Context(), waits("y", 0, holdfast.Progress{Guard: left / 2}))
			want := explained("y", "14s")
			if d.screen != nil {
				want = wiped + want
			}
			expect(t, "another lock", p.after(0), want)
			d.Done()
			p.take()
		}
		hushed.Observe(t.Context(), waits("x", 0, holdfast.Progress{Guard: left}))
		expect(t, "quiet", silent.after(time.Minute), "")
		hushed.Done()
	})
}
