package redlock

import "sync"

// works counts what goes on in the background, so that Close can let it end.
type works struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when nothing goes on; nil: nobody asks
}

func (w *works) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
}

func (w *works) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// whenIdle returns a channel that is closed when nothing goes on.
func (w *works) whenIdle() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	idle := make(chan struct{})
	if w.n == 0 {
		close(idle)
	} else {
		w.idle = idle
	}
	return idle
}
