//go:build linux

package filelock_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	_ "holdfast.dev/filelock"
)

// These tests see the store as programs do: through its URL, with the core for exclusive locks and requests of package driver for
// the rest. They are for Linux, where processes can be stopped, killed and looked at.

// An order is what an actor is told to do: lock, unlock, cancel, state, bear, guard, close.
type order struct {
	Do   string
	ID   string // names what is locked, in all that is said about it
	Name string `json:",omitempty"` // of the lock

	Mode  driver.Mode   `json:",omitempty"` // 0: exclusive
	N     int           `json:",omitempty"`
	Limit int           `json:",omitempty"`
	Keep  time.Duration `json:",omitempty"`
	Try   bool          `json:",omitempty"` // now or not at all

	Until driver.Instant `json:",omitempty"` // for how long to hammer
}

// A word is what an actor says: waiting, granted, failed, lost, unlocked, state, born, closed; children also ready and done.
type word struct {
	Said  string
	ID    string         `json:",omitempty"`
	Token uint64         `json:",omitempty"`
	At    driver.Instant `json:",omitempty"` // the boot clock, which all processes share: unlocked, just before; else just after
	Left  time.Duration  `json:",omitempty"`
	Count int            `json:",omitempty"`
	Error string         `json:",omitempty"`
}

func now() driver.Instant { return driver.Boot().Now() }

// storeURL is the URL of the store in a directory.
func storeURL(dir string) string { return "file://" + (&url.URL{Path: dir}).EscapedPath() }

// openStore opens a store without the core.
func openStore(ctx context.Context, dir string) (driver.Store, error) {
	return openAt(ctx, storeURL(dir))
}

func openAt(ctx context.Context, address string) (driver.Store, error) {
	u, err := driver.ParseURL(address)
	if err != nil {
		return nil, err
	}
	open, known := driver.Lookup("file")
	if !known {
		return nil, errors.New("no driver is registered for file")
	}
	return open(ctx, u)
}

// An actor does what it is told with one client of a store, all things side by side.
type actor struct {
	store driver.Store
	locks *holdfast.Client
	ids   *driver.Attempts
	say   func(word)

	mu      sync.Mutex
	waiting map[string]bool // has said so
	ends    map[string]func() error
	holds   map[string]*holdfast.Hold
	cancels map[string]context.CancelFunc
}

func newActor(address string, say func(word)) (*actor, error) {
	store, err := openAt(context.Background(), address)
	if err != nil {
		return nil, err
	}
	a := &actor{
		store: store, ids: driver.NewAttempts(), say: say, waiting: make(map[string]bool), ends: make(map[string]func() error),
		holds: make(map[string]*holdfast.Hold), cancels: make(map[string]context.CancelFunc),
	}
	a.locks = holdfast.New(store, holdfast.TTL(holdfast.MinTTL), holdfast.WithObserver(holdfast.ObserverFunc(a.observe)))
	return a, nil
}

// obey carries an order out.
func (a *actor) obey(o order) {
	switch o.Do {
	case "lock":
		a.mu.Lock()
		delete(a.waiting, o.ID) // ids may be used again
		a.mu.Unlock()
		ctx, cancel := context.WithCancel(context.Background())
		a.mu.Lock()
		a.cancels[o.ID] = cancel
		a.mu.Unlock()
		go a.lock(ctx, o)
	case "cancel":
		a.mu.Lock()
		defer a.mu.Unlock()
		a.cancels[o.ID]()
	case "unlock":
		go a.unlock(o.ID)
	case "state":
		a.state(o.ID)
	case "bear":
		pid, err := bear(nil)
		a.say(word{Said: "born", ID: o.ID, Count: pid, Error: text(err)})
	case "guard":
		pid, err := a.guard()
		a.say(word{Said: "born", ID: o.ID, Count: pid, Error: text(err)})
	case "close":
		go func() { a.say(word{Said: "closed", Error: text(a.locks.Close())}) }()
	default:
		a.say(word{Said: "failed", ID: o.ID, Error: "an order that nobody knows: " + o.Do})
	}
}

func (a *actor) lock(ctx context.Context, o order) {
	token, end, err := a.acquire(ctx, o)
	at := now()
	if err != nil {
		a.say(word{Said: "failed", ID: o.ID, Error: err.Error()})
		return
	}
	a.mu.Lock()
	a.ends[o.ID] = end
	a.mu.Unlock()
	a.say(word{Said: "granted", ID: o.ID, Token: token, At: at})
}

func (a *actor) acquire(ctx context.Context, o order) (uint64, func() error, error) {
	if o.Mode != 0 && o.Mode != driver.Exclusive {
		r := &driver.Request{
			Name: o.Name, Attempt: a.ids.Next(), Label: o.ID, Mode: o.Mode, N: o.N, Limit: o.Limit, Keep: o.Keep,
			TTL: holdfast.MinTTL, NoWait: o.Try, Waiting: func(driver.Progress) { a.waits(o.ID) },
		}
		grant, err := a.store.Acquire(ctx, r)
		if err != nil {
			return 0, nil, err
		}
		return grant.Token, func() error { return a.store.Release(context.Background(), r) }, nil
	}
	opts := []holdfast.Option{holdfast.Label(o.ID)}
	if o.Keep > 0 {
		opts = append(opts, holdfast.MinHold(o.Keep))
	}
	m := a.locks.Mutex(o.Name, opts...)
	take := m.Lock
	if o.Try {
		take = m.TryLock
	}
	hold, err := take(ctx)
	if err != nil {
		return 0, nil, err
	}
	a.mu.Lock()
	a.holds[o.ID] = hold
	a.mu.Unlock()
	return hold.Token(), hold.Unlock, nil
}

func (a *actor) unlock(id string) {
	a.mu.Lock()
	end := a.ends[id]
	a.mu.Unlock()
	if end == nil {
		a.say(word{Said: "failed", ID: id, Error: "told to unlock what was not granted"})
		return
	}
	at := now()
	a.say(word{Said: "unlocked", ID: id, At: at, Error: text(end())})
}

func (a *actor) state(id string) {
	a.mu.Lock()
	hold := a.holds[id]
	a.mu.Unlock()
	if hold == nil {
		a.say(word{Said: "failed", ID: id, Error: "asked for the state of what was not granted"})
		return
	}
	a.say(word{Said: "state", ID: id, Token: hold.Token(), Left: hold.Left(), Error: text(hold.Err())})
}

// observe learns from the core who waits and who has lost, by the label.
func (a *actor) observe(_ context.Context, e holdfast.Event) {
	_, id, found := strings.Cut(e.Label, " ")
	switch {
	case found && e.Kind == holdfast.EventWaiting:
		a.waits(id)
	case found && e.Kind == holdfast.EventLost:
		a.say(word{Said: "lost", ID: id, At: now(), Error: text(e.Err)})
	}
}

// waits says that id waits, once.
func (a *actor) waits(id string) {
	a.mu.Lock()
	again := a.waiting[id]
	a.waiting[id] = true
	a.mu.Unlock()
	if !again {
		a.say(word{Said: "waiting", ID: id, At: now()})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprint(err)
}
