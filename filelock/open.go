package filelock

import (
	"context"
	"errors"
	"time"

	"holdfast.dev/driver"
)

// A config is how a store is to work.
type config struct {
	allowNetwork bool
	poll         bool
	network      bool                    // works as on a network file system, wherever it is
	boot         string                  // names the time since the machine was started; "": nobody can tell
	refresh      time.Duration           // until waiters look for the first time though nothing woke them; 0: firstRefresh
	lack         func(path string) error // for tests: why a pipe of another client cannot be opened; nil: nothing is lacking
	step         func(done string)       // for tests: called after each step of a change after which a client may be killed; nil: nothing
	clock        clock                   // of stamps; none: the machine's
}

// An Option changes how a store works.
type Option func(*config)

// AllowNetwork makes Open accept a directory on a network file system. Such a store polls, and promises less: see
// [Store.Guarantees]. It is ?network=allow in a URL.
func AllowNetwork() Option { return func(c *config) { c.allowNetwork = true } }

// Polling makes a store look again and again, instead of being woken. That is how it works where it cannot be woken, so there is
// no need to ask for it but to try it. It is ?wait=poll in a URL.
func Polling() Option { return func(c *config) { c.poll = true } }

// Open opens the directory dir as a store, and makes it if it does not exist. Every call is a client of its own: what it holds
// ends when it is closed, or with this process. It refuses, with a *driver.Refused, a directory that cannot be relied on.
func Open(ctx context.Context, dir string, options ...Option) (*Store, error) {
	c := config{boot: systemBoot()}
	for _, option := range options {
		option(&c)
	}
	return open(ctx, dir, c)
}

func open(ctx context.Context, path string, c config) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !lockable {
		return nil, &driver.Refused{Err: errors.New("this system has no file locks that end with their process: use another store")}
	}
	d, err := openDirectory(path, c.allowNetwork)
	if err != nil {
		return nil, err
	}
	c.network = c.network || d.volume.network != ""
	if c.network {
		c.boot, c.clock = "", wallClock() // the machines that share it are started at different times
	}
	if c.clock.now == nil {
		c.clock = machineClock(c.boot)
	}
	st := &Store{
		config: c, dir: d, closed: make(chan struct{}),
		locks: make(map[string]*lock), byRing: make(map[[ringLen]byte]*lock), tombs: make(map[tombKey]driver.Instant),
		watches: make(map[string]*watched),
	}
	seen, err := st.enterDirectory(ctx)
	if err != nil {
		d.close()
		return nil, err
	}
	if st.polls = st.presence.bell == nil; !st.polls {
		st.running.Go(st.listen)
	}
	st.sweep(ctx, seen)
	return st, nil
}

// enterDirectory makes this client known. It has the record's flock meanwhile: nobody else comes or sweeps. It returns who else was
// there.
func (st *Store) enterDirectory(ctx context.Context) (seen census, err error) {
	r, err := openRecord(ctx, nil, st.dir.path, true)
	if err != nil {
		return seen, err
	}
	defer r.close()
	if r.identity == "" {
		if err := st.dir.checkUnused(); err != nil {
			return seen, err
		}
		if err := r.begin(st.boot); err != nil {
			return seen, refused(r.path, advise(err))
		}
	}
	if err := st.dir.openParts(); err != nil {
		return seen, err
	}
	st.identity = r.identity
	seen, err = st.count()
	if err != nil {
		return seen, refused(st.dir.clients.Name(), err)
	}
	if seen.living == 0 {
		if err := st.begins(r, seen.odd > 0); err != nil {
			return seen, err
		}
	}
	st.id, st.presence, err = st.dir.appear(pipesWork && !st.network, !st.poll)
	return seen, err
}

// begins finds out whether the machine was restarted since somebody was here last. Where nobody can tell, it is taken for restarted:
// nobody lives, so there is nothing to lose. But a client that is odd may live: then what is in the locks stays, and only the tokens
// begin anew.
func (st *Store) begins(r *record, odd bool) error {
	known := st.boot != "" && r.boot != ""
	switch {
	case known && st.boot == r.boot:
		return nil
	case known || !odd:
		return st.recover(r)
	}
	if err := r.restart(st.boot); err != nil {
		return refused(r.path, advise(err))
	}
	return nil
}
