package driver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// An Opener opens the store that u names. It refuses parameters that it does not know (URL.Check).
type Opener func(ctx context.Context, u *URL) (Store, error)

var registry struct {
	sync.RWMutex
	openers map[string]Opener
}

// Register makes a driver known under a URL scheme, from an init function. A scheme that is taken, or a nil Opener, is a mistake
// in the program: it panics.
func Register(scheme string, open Opener) {
	if open == nil || !validScheme(scheme) {
		panic(fmt.Sprintf("driver: Register(%q): a lower-case scheme and an Opener are needed", scheme))
	}
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.openers[scheme]; taken {
		panic(fmt.Sprintf("driver: Register(%q): the scheme is registered already", scheme))
	}
	if registry.openers == nil {
		registry.openers = make(map[string]Opener)
	}
	registry.openers[scheme] = open
}

// Lookup returns the Opener of a scheme.
func Lookup(scheme string) (Opener, bool) {
	registry.RLock()
	defer registry.RUnlock()
	open, ok := registry.openers[scheme]
	return open, ok
}

// Schemes returns the registered schemes, sorted.
func Schemes() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.openers))
}
