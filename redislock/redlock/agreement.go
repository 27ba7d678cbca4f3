package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
)

// This file is what makes several servers one store: that all clients have the same list of them, and that it names as many servers as it has names.
// A client that finds out otherwise grants and renews nothing, at any node: a majority of its list need not meet those of others.

// runDigits is how much of a server process's id is enough to tell it from the others of a list.
const runDigits = 16

var errSameServer = &driver.Refused{Err: fmt.Errorf("%w: a majority of one machine is none; name each once", ErrSameServer)}

// errElsewhere is why a node is not set up: another one has another list, or is the same server as a third.
var errElsewhere = errors.New("nothing was written here, because another node refuses this client's list")

// vetoed is why nothing may be granted or renewed, at any node; nil if nothing is wrong.
func (s *Store) vetoed() error {
	for _, n := range s.nodes {
		if why := n.vetoes.Load(); why != nil {
			s.reconsider(n)
			return why
		}
	}
	return nil
}

// disagrees notes what opening the store at the node has told: whether it keeps this client from using all of them.
func (n *node) disagrees(err error) {
	list, _ := errors.AsType[*ListError](err)
	switch {
	case list != nil:
		n.vetoes.Store(&driver.NodeError{Node: n.name, Err: &driver.Refused{Err: list}})
	case errors.Is(err, ErrSameServer):
		n.vetoes.Store(&driver.NodeError{Node: n.name, Err: errSameServer})
	case err == nil:
		n.vetoes.Store(nil)
	}
}

// reconsider finds out, in the background, whether a node that vetoes everything does so still: somebody may have mended it.
func (s *Store) reconsider(n *node) {
	if n.linked.Load() == nil {
		n.connects()
		return
	}
	now, last := time.Now().UnixNano(), n.reconsidered.Load()
	if now-last < int64(reconnectPause) || !n.reconsidered.CompareAndSwap(last, now) {
		return
	}
	s.background.begin()
	go func() {
		defer s.background.end()
		ctx, cancel := context.WithTimeout(s.work, connectFor)
		defer cancel()
		s.ask(ctx, n)
	}()
}

// agrees asks all other nodes that can be reached whether they have another list, or are one server, before this client writes its list into n. It only
// reads: who comes with a wrong list leaves no trace.
//
// It also tells whether n is doubted. A node that knows nothing of the store is new, with all the others; or it stands for one that had voted, and does
// not know it: an empty server under the name of one that is gone. It is new if all others answer, and none has had the store for longer than it
// takes to set them all up.
func (s *Store) agrees(ctx context.Context, n *node) (guard.Elsewhere, error) {
	ctx, cancel := context.WithTimeout(ctx, agreeIn)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	var found guard.Elsewhere
	young := 0
	for _, other := range s.nodes {
		if other == n {
			continue
		}
		all.Go(func() {
			longest, isYoung := s.ask(ctx, other)
			mu.Lock()
			defer mu.Unlock()
			found.Guard = max(found.Guard, longest)
			if isYoung {
				young++
			}
		})
	}
	all.Wait()
	for _, other := range s.nodes {
		if other != n && other.vetoes.Load() != nil { // its own veto is what is being looked at again
			return found, &driver.Refused{Err: errElsewhere}
		}
	}
	found.Doubted = young < len(s.nodes)-1
	return found, nil
}

// agreeIn is how long the other nodes have to tell.
const agreeIn = 300 * time.Millisecond

// setUpIn is how long it may take from when one node was set up until all are.
const setUpIn = 5 * time.Second

// ask reads what a node has of the store, and reports its guard, and whether it has it not, or not for long. Another list is noted.
func (s *Store) ask(ctx context.Context, n *node) (guard time.Duration, young bool) {
	client := n.reach(ctx)
	if client == nil {
		return 0, false
	}
	replies := client.DoMulti(ctx, client.B().Time().Build(), client.B().Hmget().Key(s.keys.store()).Field("list", "born", "guard").Build())
	now, err := replies[0].AsIntSlice()
	if err != nil || len(now) != 2 {
		return 0, false
	}
	kept, err := replies[1].ToArray()
	if err != nil || len(kept) != 3 {
		return 0, false
	}
	list, err := kept[0].ToString()
	none := rueidis.IsRedisNil(err)
	switch was := n.vetoes.Load(); {
	case err != nil && !none:
		return 0, false
	case !none && list != s.list:
		n.disagrees(&ListError{Asked: s.list, Found: list, Key: s.keys.store()})
	case was != nil && errors.As(was, new(*ListError)):
		n.vetoes.CompareAndSwap(was, nil) // it has changed
	}
	if none {
		return 0, true
	}
	born, err := kept[1].AsInt64()
	age := time.Duration(now[0]*1e6+now[1]-born) * time.Microsecond
	micros, _ := kept[2].AsInt64()
	return time.Duration(micros) * time.Microsecond, err == nil && age < setUpIn && age > -setUpIn
}

// admit notes which server process a node is, unless another one is the same.
func (s *Store) admit(n *node, run string) error {
	s.admitting.Lock()
	defer s.admitting.Unlock()
	if s.isTwin(n, run) {
		return errSameServer
	}
	n.run.Store(&run)
	return nil
}

// isTwin reports whether another node is the same server process.
func (s *Store) isTwin(n *node, run string) bool {
	if run == "" {
		return false
	}
	for _, other := range s.nodes {
		if known := other.run.Load(); other != n && known != nil && *known == run {
			return true
		}
	}
	return false
}
