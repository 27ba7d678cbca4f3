package guard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/redisconn"
)

const proofTime = time.Second // how long the replicas have

// proofs lets one caller at a time ask the replicas: the others wait for what it finds.
type proofs struct {
	mu  sync.Mutex
	now *proof // nil: nobody asks
}

type proof struct {
	done chan struct{}
	few  bool // too few have answered
}

var errFew = errors.New("too few replicas have acknowledged")

// proveAndSend lets the replicas acknowledge something, and sends a call: both in one round trip, or, if somebody else just does the first,
// after that.
func (s *Store) proveAndSend(ctx context.Context, st *Opened, function string, keys, args []string, send Send) (rueidis.RedisMessage, error) {
	s.proofs.mu.Lock()
	if others := s.proofs.now; others != nil {
		s.proofs.mu.Unlock()
		select {
		case <-others.done:
		case <-ctx.Done():
			return rueidis.RedisMessage{}, &Unsent{ctx.Err()}
		}
		if others.few {
			return rueidis.RedisMessage{}, unprovedError(st)
		}
		return s.send(ctx, st, function, keys, args, send)
	}
	own := &proof{done: make(chan struct{})}
	s.proofs.now = own
	s.proofs.mu.Unlock()
	message, err := s.prove(ctx, st, function, keys, st.with(args))
	own.few = errors.Is(err, errFew)
	s.proofs.mu.Lock()
	s.proofs.now = nil
	s.proofs.mu.Unlock()
	close(own.done)
	if own.few {
		s.Forget(*st) // its settings may have changed
		redisconn.Doubt(s.config.Client)
		err = unprovedError(st)
	}
	return message, err
}

// prove sends a call behind something that the replicas acknowledge.
func (s *Store) prove(ctx context.Context, st *Opened, function string, keys, args []string) (rueidis.RedisMessage, error) {
	c, library, needed := s.config.Client, s.config.Library, max(st.Replicas, 1) // the server may need one that the key does not tell of
	all := c.DoMulti(ctx,
		library.Command(c, s.function(fnProve), keys[:2], args[:1]),
		c.B().Wait().Numreplicas(int64(needed)).Timeout(proofTime.Milliseconds()).Build(),
		library.Command(c, function, keys, args))
	message, err := all[2].ToMessage()
	if library.IsMissing(err) { // it must be loaded again
		return library.Call(ctx, c, function, keys, args)
	}
	if r, ok := ReadReply(message); err != nil || !ok || r.Says != SaysUnproved {
		return message, err // whatever came of WAIT, this was carried out
	}
	n, err := all[1].AsInt64()
	switch err := redisconn.Error(err); {
	case err == nil && n < int64(needed):
		return message, errFew
	case errors.Is(err, redisconn.ErrPermission):
		return message, err // of WAIT, without which there is no proof
	}
	return message, nil
}

// unprovedError is that of one who wants what only a primary may give, from a server that may be none any more.
func unprovedError(st *Opened) error {
	return &driver.Refused{Err: &redisconn.ServerError{Code: "UNPROVED", Err: redisconn.ErrReplicas, Message: fmt.Sprintf("the server has not heard from %s in time, "+
		"so it may not be the primary any more: it grants and renews nothing until it has; look at its replicas and the network between them",
		count(max(st.Replicas, 1), "replica"))}}
}
