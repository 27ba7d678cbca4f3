package guard

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"
)

// A Send sends a call to the store that was opened as st: its id goes before the arguments. It may send it together with others.
type Send func(ctx context.Context, st *Opened) (rueidis.RedisMessage, error)

// Call runs a function, by its whole name, on the store that was opened as st: keys[0] is what it is about, keys[1] the store's key, further
// ones are its own; args come behind the store's id. send sends it; with nil it goes out at once, by itself. Nothing of all that is kept.
//
// If the store was set up anew since, it is opened again, and the call repeated; but not one of Config.Bound, if the guard is another: what it
// asks for was measured by the old one, so the answer is SaysBound. If the server must first prove that it is still the primary, its
// replicas are let to answer, and the call repeated.
func (s *Store) Call(ctx context.Context, st *Opened, function string, keys, args []string, send Send) (Reply, error) {
	unproved := false
	for again := range 4 {
		var message rueidis.RedisMessage
		var err error
		if unproved {
			message, err = s.proveAndSend(ctx, st, function, keys, args, send)
		} else {
			message, err = s.send(ctx, st, function, keys, args, send)
		}
		if err != nil {
			return Reply{}, s.Failure(err)
		}
		r, ok := ReadReply(message)
		switch {
		case !ok:
			return Reply{}, s.Strange(ctx, function)
		case r.Says == SaysUnproved && again < 3:
			unproved = true
			continue
		case r.Says == SaysUnproved:
			return Reply{}, unprovedError(st)
		case r.Says == SaysReopened && again < 2:
			s.Forget(*st)
			was := st.Guard
			if st, err = s.Opened(ctx); err != nil {
				return Reply{}, err
			}
			if st.Guard != was && slices.Contains(s.config.Bound, function) {
				return Reply{Says: SaysBound}, nil
			}
			unproved = false
			continue
		}
		s.served.Store(true)
		return r, nil
	}
	return Reply{}, s.Strange(ctx, function)
}

// send sends a call: as its caller has it, or by itself.
func (s *Store) send(ctx context.Context, st *Opened, function string, keys, args []string, send Send) (rueidis.RedisMessage, error) {
	if send != nil {
		return send(ctx, st)
	}
	return s.Do(ctx, function, keys, st.with(args))
}

// with returns args behind the store's id.
func (st *Opened) with(args []string) []string {
	return append(append(make([]string, 0, 1+len(args)), st.ID), args...)
}

// Do sends one request, args beginning with the store's id, and returns what came of it: Failure explains the error. It ends with Close.
func (s *Store) Do(ctx context.Context, function string, keys, args []string) (rueidis.RedisMessage, error) {
	if !s.config.Owned { // nobody closes its connections when the store is closed
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)()
	}
	return s.config.Library.Call(ctx, s.config.Client, function, keys, args)
}

// Strange is the error of an answer that the library does not give: somebody has put something else in its place, or the connection is at
// fault.
func (s *Store) Strange(ctx context.Context, function string) error {
	if err := s.config.Library.Load(ctx, s.config.Client); err != nil {
		return s.Failure(err)
	}
	return fmt.Errorf("function %s gave an answer that it never gives", function)
}

// Unsent is the end of a context before anything was sent.
type Unsent struct{ Err error }

func (u *Unsent) Error() string { return u.Err.Error() }

// Unwrap returns the error of the context.
func (u *Unsent) Unwrap() error { return u.Err }
