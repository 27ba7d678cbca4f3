package redlock

import (
	"context"
	"slices"
	"sync"
)

// frees are the releases that are on their way to one node, by the lock's key. A release is done at a majority, and its caller may ask for the lock again
// at once: at the others its votes must not arrive before the release does, and find the lock taken by its own past.
type frees struct {
	mu   sync.Mutex
	keys map[string][]freeing
}

// A freeing is closed when its release was answered, or given up.
type freeing chan struct{}

// begin says that a release is about to be sent.
func (f *frees) begin(key string) freeing {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keys == nil {
		f.keys = make(map[string][]freeing)
	}
	one := make(freeing)
	f.keys[key] = append(f.keys[key], one)
	return one
}

// end says that it was answered, or given up.
func (f *frees) end(key string, one freeing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(one)
	if all := f.keys[key]; len(all) > 1 {
		f.keys[key] = slices.DeleteFunc(slices.Clone(all), func(other freeing) bool { return other == one }) // who waits has parts of it
	} else {
		delete(f.keys, key)
	}
}

// underWay are those that have begun and not ended.
func (f *frees) underWay(key string) []freeing {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.keys[key]
	return all[:len(all):len(all)]
}

// await waits for releases to end.
func await(ctx context.Context, all []freeing) error {
	for _, one := range all {
		select {
		case <-one:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
