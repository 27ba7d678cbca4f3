//go:build unix

package run

import (
	"context"
	"sync"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/waiting"
)

// news is what a run hears of its locks.
type news struct {
	display *waiting.Display
	wait    func()        // called when somebody else has it
	renewed chan struct{} // has an element when there was a renewal

	mu     sync.Mutex
	labels map[string]string // how others see our holds, by the name of the lock
}

func newNews(display *waiting.Display, wait func()) *news {
	return &news{display: display, wait: wait, renewed: make(chan struct{}, 1), labels: make(map[string]string)}
}

// Observe takes news.
func (n *news) Observe(ctx context.Context, e holdfast.Event) {
	n.display.Observe(ctx, e)
	switch e.Kind {
	case holdfast.EventWaiting, holdfast.EventRetried:
		n.wait()
	case holdfast.EventAcquired:
		n.mu.Lock()
		n.labels[e.Name] = e.Label
		n.mu.Unlock()
	case holdfast.EventRenewed:
		select {
		case n.renewed <- struct{}{}:
		default:
		}
	}
}

func (n *news) label(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.labels[name]
}
