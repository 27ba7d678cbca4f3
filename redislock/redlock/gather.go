package redlock

import (
	"context"
	"time"
)

// A reply is what one node has said to a question that concerns no try.
type reply[T any] struct {
	value T
	err   error // errPending: nothing yet
}

// gather asks all nodes at once, and returns what they say: when all have answered, or when a majority has and the others have had a moment more. A
// node that hangs is not waited for. Requests go on when gather has returned, for as long as patience says. Its error is that of ctx.
func gather[T any](ctx context.Context, s *Store, patience, moment time.Duration, ask func(ctx context.Context, n *node) (T, error)) ([]reply[T], error) {
	type numbered struct {
		i int
		reply[T]
	}
	arrived := make(chan numbered, len(s.nodes))
	r := s.newRound(patience)
	defer r.end()
	replies := make([]reply[T], len(s.nodes))
	for i, n := range s.nodes {
		replies[i].err = errPending
		s.background.begin()
		r.begin()
		go func() {
			defer s.background.end()
			value, err := ask(r.ctx, n)
			r.end()
			arrived <- numbered{i, reply[T]{value, err}}
		}()
	}
	count := tally{n: len(s.nodes)}
	var late <-chan time.Time
	for range s.nodes {
		select {
		case one := <-arrived:
			if replies[one.i] = one.reply; one.err == nil {
				count.yes++
			}
		case <-late:
			return replies, nil
		case <-ctx.Done():
			return replies, ctx.Err()
		case <-s.life.Done():
			return replies, s.closed()
		}
		if count.won() && late == nil {
			timer := time.NewTimer(moment)
			defer timer.Stop()
			late = timer.C
		}
	}
	return replies, nil
}

// each asks all nodes for something of one lock.
func (s *Store) each(ctx context.Context, request func(ctx context.Context, p primitive) answer) ([]reply[answer], error) {
	const patience = time.Second
	return gather(ctx, s, patience, s.nodeTimeout(patience), func(ctx context.Context, n *node) (answer, error) {
		a := n.ask(ctx, s.form(), patience, request)
		if a.word == failed {
			return a, a.err
		}
		return a, nil
	})
}

// answered is how many nodes have; too few for a majority: the error says which, and why.
func answered[T any](s *Store, replies []reply[T]) (int, error) {
	e := &NodesError{Need: majority(len(s.nodes))}
	yes := 0
	for i, r := range replies {
		state := NodeState{Node: s.nodes[i].name, Says: "answered", yes: true}
		if r.err != nil {
			state = NodeState{Node: s.nodes[i].name, Says: r.err.Error(), Err: r.err}
		} else {
			yes++
		}
		e.Nodes = append(e.Nodes, state)
	}
	if yes < e.Need {
		return yes, e
	}
	return yes, nil
}
