package round

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"holdfast.dev/torture/internal/history"
)

// A watch tells how a round goes, a few times a second.
type watch struct {
	plan  Plan
	dir   string
	began time.Time
	done  chan struct{}
	over  sync.WaitGroup

	mu    sync.Mutex
	state State
}

func newWatch(plan Plan, dir string) *watch {
	w := &watch{plan: plan, dir: dir, began: time.Now(), done: make(chan struct{}), state: State{Phase: "starting"}}
	if plan.Watch != nil {
		w.over.Go(w.run)
	}
	return w
}

func (w *watch) run() {
	tally := make(tally)
	for {
		w.mu.Lock()
		state := w.state
		w.mu.Unlock()
		state.Operations, state.Elapsed = tally.count(w.dir), time.Since(w.began)
		w.plan.Watch(state)
		select {
		case <-time.After(200 * time.Millisecond):
		case <-w.done:
			return
		}
	}
}

func (w *watch) fault(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Fault = name
}

func (w *watch) phase(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Phase = name
}

func (w *watch) end() {
	close(w.done)
	w.over.Wait()
}

// A tally knows how far it has read each file, and how many operations were begun in it.
type tally map[string]*struct {
	read       int64
	operations int
}

// count returns how many operations have been begun so far.
func (t tally) count(dir string) int {
	entries, _ := os.ReadDir(dir)
	total := 0
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if !strings.HasPrefix(e.Name(), "process-") {
			continue
		}
		if t[name] == nil {
			t[name] = new(struct {
				read       int64
				operations int
			})
		}
		at := t[name]
		if file, err := os.Open(name); err == nil {
			file.Seek(at.read, 0)
			records, _ := history.Decode(file)
			file.Close()
			at.read += int64(len(records)) * history.Size
			for _, r := range records {
				if (r.Op == history.Acquire || r.Op == history.Inspect) && r.Phase == history.Asked {
					at.operations++
				}
			}
		}
		total += at.operations
	}
	return total
}
