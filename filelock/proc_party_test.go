//go:build linux

package filelock_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// patience is how long something may take that must happen in the end. Nothing that works comes near it.
const patience = 60 * time.Second

// A party is somebody who takes part in a test: an actor in this process, or one in a process of its own.
type party struct {
	t     testing.TB
	tell  func(order)
	words chan word
	heard []word // heard while another was waited for

	cmd   *exec.Cmd // of a process
	input io.Closer
	ended chan struct{} // closed when the process is gone
}

// here is a party in this process.
func here(t testing.TB, dir string) *party {
	t.Helper()
	p := &party{t: t, words: make(chan word, 1024)}
	a, err := newActor(storeURL(dir), func(w word) { p.words <- w })
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	p.tell = a.obey
	t.Cleanup(func() { a.locks.Close() })
	return p
}

// there is a party in a process of its own.
func there(t testing.TB, dir string) *party {
	t.Helper()
	p := spawn(t, task{Do: "obey", Dir: dir})
	p.hears("ready", "")
	return p
}

// spawn starts a process. It is killed at the end of the test, if it still runs.
func spawn(t testing.TB, todo task) *party {
	t.Helper()
	value, err := json.Marshal(todo)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatalf("finding this test binary: %v", err)
	}
	p := &party{t: t, words: make(chan word, 1024), ended: make(chan struct{})}
	p.cmd = exec.Command(binary)
	p.cmd.Env = append(os.Environ(), childVariable+"="+string(value))
	p.cmd.Stderr = os.Stderr
	// A process group of its own: should the parent die while the child is stopped, the system ends it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("starting this test binary again: %v", err)
	}
	p.input = input
	p.tell = func(o order) {
		line, _ := json.Marshal(o)
		if _, err := input.Write(append(line, '\n')); err != nil {
			t.Errorf("telling a child to %s: %v", o.Do, err)
		}
	}
	go p.listen(output)
	t.Cleanup(p.kill)
	return p
}

func (p *party) listen(output io.Reader) {
	defer close(p.ended)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var w word
		if line := bytes.TrimSpace(lines.Bytes()); json.Unmarshal(line, &w) == nil {
			p.words <- w
		}
	}
	p.cmd.Wait() // how it ended does not matter: its last word does
	close(p.words)
}

// hears waits for a word about id, which must come. Other words are kept for later.
func (p *party) hears(said, id string) word {
	p.t.Helper()
	w, err := p.listenFor(said, id)
	if err != nil {
		p.t.Fatal(err)
	}
	return w
}

// listenFor is hears for goroutines other than the test's own.
func (p *party) listenFor(said, id string) (word, error) {
	match := func(w word) bool { return w.Said == said && w.ID == id }
	if i := slices.IndexFunc(p.heard, match); i >= 0 {
		w := p.heard[i]
		p.heard = slices.Delete(p.heard, i, i+1)
		return w, nil
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case w, ok := <-p.words:
			switch {
			case !ok:
				return word{}, fmt.Errorf("the child ended before it said %q of %q", said, id)
			case match(w):
				return w, nil
			case w.Said == "failed" && (w.ID == id || w.ID == ""):
				return w, fmt.Errorf("%q was to be %s, but failed: %s", id, said, w.Error)
			case w.Said == "granted" && w.ID == id:
				return w, fmt.Errorf("%q was to be %s, but was granted token %d", id, said, w.Token)
			}
			p.heard = append(p.heard, w)
		case <-late.C:
			return word{}, fmt.Errorf("%q is still not %s", id, said)
		}
	}
}

// locks asks for a lock, and does not wait for anything.
func (p *party) locks(id, name string, how ...func(*order)) {
	o := order{Do: "lock", ID: id, Name: name}
	for _, change := range how {
		change(&o)
	}
	p.tell(o)
}

func shared(o *order) { o.Mode = driver.Shared }
func trying(o *order) { o.Try = true }
func permits(n, limit int) func(*order) {
	return func(o *order) { o.Mode, o.N, o.Limit = driver.Permits, n, limit }
}
func keeping(d time.Duration) func(*order) { return func(o *order) { o.Keep = d } }

// holds gets a lock.
func (p *party) holds(id, name string, how ...func(*order)) word {
	p.t.Helper()
	p.locks(id, name, how...)
	return p.hears("granted", id)
}

// queues asks for a lock that is taken, and waits until it has its place in the queue.
func (p *party) queues(id, name string, how ...func(*order)) {
	p.t.Helper()
	p.locks(id, name, how...)
	p.hears("waiting", id)
}

// fails asks for a lock that it must not get, and returns why it did not.
func (p *party) fails(id, name string, how ...func(*order)) string {
	p.t.Helper()
	p.locks(id, name, how...)
	return p.hears("failed", id).Error
}

// rest returns what a process that has ended said and nobody has heard.
func (p *party) rest() []word {
	for w := range p.words {
		p.heard = append(p.heard, w)
	}
	return p.heard
}

// unlocks unlocks, which must work, and returns when it began to.
func (p *party) unlocks(id string) driver.Instant {
	p.t.Helper()
	p.tell(order{Do: "unlock", ID: id})
	w := p.hears("unlocked", id)
	if w.Error != "" {
		p.t.Errorf("unlocking %q: %s", id, w.Error)
	}
	return w.At
}

// grantedSince waits for a grant, which must not have come before the moment at which it became possible.
func (p *party) grantedSince(id string, possible driver.Instant) word {
	p.t.Helper()
	w := p.hears("granted", id)
	if w.At.Before(possible) {
		p.t.Errorf("%q was granted %v before it was possible", id, possible.Sub(w.At))
	}
	return w
}

func (p *party) pid() int { return p.cmd.Process.Pid }

// kill ends the process at once (kill −9), and waits until it is gone.
func (p *party) kill() {
	p.cmd.Process.Kill() // an error: it has ended already
	<-p.ended
}

// dies is kill, and tells when it began.
func (p *party) dies() driver.Instant {
	at := now()
	p.kill()
	return at
}

// stop stops the process, and returns when it stands still.
func (p *party) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		p.t.Fatalf("stopping a child: %v", err)
	}
	until(p.t, "the child stands still", func() bool { return processState(p.pid()) == 'T' })
}

// goOn lets a stopped process go on.
func (p *party) goOn() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		p.t.Fatalf("letting a child go on: %v", err)
	}
}

// processState is the letter by which the kernel describes a process: R, S, T …; 0 if it is gone.
func processState(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	i := bytes.LastIndexByte(stat, ')')
	if err != nil || i < 0 || len(stat) < i+3 {
		return 0
	}
	return stat[i+2]
}

// until waits for a condition that must come true.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	late := time.Now().Add(patience)
	for !done() {
		if time.Now().After(late) {
			t.Fatalf("still not true after %v: %s", patience, what)
		}
		time.Sleep(time.Millisecond)
	}
}

// newDir is the path of a directory for a store, which is not there yet.
func newDir(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "store")
}
