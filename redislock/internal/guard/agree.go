package guard

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"holdfast.dev/driver"
)

// format is that of the keys. Libraries of one format share the store.
const format = 1

// storeFields is how many elements find replies, of a store that is there.
const storeFields = 7

// agree reads what the store is, or sets it up.
func (s *Store) agree(ctx context.Context) (*Opened, error) {
	r, err := s.found(ctx, fnFind, nil)
	if err != nil {
		return nil, err
	}
	kept := r.contact()
	want, err := s.contacts(ctx, kept)
	if err != nil {
		return nil, err
	}
	guard := max(s.guard(), s.longest, 0) // the server may have forgotten it, but not the holds that were granted under it
	isNew := len(r.Rest) == 0
	if isNew {
		want = want.atLeast(s.last)
		if short := (&Opened{Guard: guard, Contact: want}).fits(); short != nil {
			return nil, &driver.Refused{Err: short}
		}
	}
	unlisted := s.config.List != "" && r.Text(6) == ""
	var elsewhere Elsewhere
	if s.config.Writes != nil && (isNew || unlisted) {
		if elsewhere, err = s.config.Writes(ctx); err != nil {
			return nil, err
		}
		if s.config.Guard == nil && elsewhere.Guard > 0 {
			guard = max(elsewhere.Guard, s.longest)
		}
	}
	if isNew || want != kept || unlisted {
		args := []string{RandomText(), Micros(guard), Micros(want.Lag), strconv.Itoa(want.Replicas), s.config.List, flag(elsewhere.Doubted)}
		written, err := s.found(ctx, fnOpen, args)
		switch {
		case err == nil:
			r = written
		case isNew || !driver.Answered(err): // else the store is there, and a server that writes nothing now can be told later
			return nil, err
		}
	}
	if len(r.Rest) != storeFields || r.Text(0) == "" {
		return nil, s.Strange(ctx, s.function(fnOpen))
	}
	st := &Opened{ID: r.Text(0), Guard: r.Span(2), List: r.Text(6), Contact: r.contact()}
	if wrong := s.differs(st, r.Number(1)); wrong != nil {
		return nil, &driver.Refused{Err: wrong}
	}
	return st, nil
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// guard is what was asked for, or the default.
func (s *Store) guard() time.Duration {
	if s.config.Guard != nil {
		return *s.config.Guard
	}
	return DefaultGuard
}

// contact is what find replies of the replicas.
func (r Reply) contact() Contact { return Contact{Lag: r.Span(3), Replicas: int(r.Number(4))} }

// differs says what of a store is not as this client needs it.
func (s *Store) differs(st *Opened, found int64) error {
	c := s.config
	switch short := st.fits(); {
	case found != format:
		return fmt.Errorf("%w: key %q says format %d, this program knows format %d: use a program of the same age, or another prefix",
			ErrFormat, c.Key, found, format)
	case c.Guard != nil && st.Guard != *c.Guard:
		return &GuardError{Asked: *c.Guard, Found: st.Guard, Key: c.Key}
	case c.List != "" && st.List != "" && st.List != c.List:
		return &ListError{Asked: c.List, Found: st.List, Key: c.Key}
	case short != nil:
		return short
	}
	return nil
}

// found calls one of the functions that tell of the store.
func (s *Store) found(ctx context.Context, name string, args []string) (Reply, error) {
	function := s.function(name)
	message, err := s.config.Library.Call(ctx, s.config.Client, function, []string{s.config.Key}, args)
	if err != nil {
		return Reply{}, s.Failure(err)
	}
	all, err := message.ToArray()
	if err != nil {
		return Reply{}, s.Strange(ctx, function)
	}
	return Reply{Rest: all}, nil
}
