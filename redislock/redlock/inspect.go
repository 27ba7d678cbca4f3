package redlock

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
)

// each asks all nodes that can be reached, and returns what they say.
func (s *Store) each(ctx context.Context, request func(ctx context.Context, p primitive) answer) []answer {
	const patience = time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answers := make([]answer, len(s.nodes))
	done := make(chan struct{})
	for i, n := range s.nodes {
		go func() {
			answers[i] = n.ask(ctx, s.form(), patience, request)
			done <- struct{}{}
		}()
	}
	for range s.nodes {
		<-done
	}
	return answers
}

// Inspect shows who has the lock of that name: whoever a majority of the nodes names; see driver.Inspector. Who waits is not known: nodes remember
// only whom to tell.
func (s *Store) Inspect(ctx context.Context, name string, mode driver.Mode) (*driver.Info, error) {
	if err := driver.CheckName(name); err != nil {
		return nil, err
	}
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if mode == driver.Permits {
		return nil, fmt.Errorf("%w: permits", driver.ErrUnsupported)
	}
	info, _, err := s.inspect(ctx, name)
	return info, err
}

// inspect also reports whether the value is one of ours.
func (s *Store) inspect(ctx context.Context, name string) (info *driver.Info, ours bool, err error) {
	q := &question{keys: []string{s.keys.lock(name), s.keys.store(), "", s.keys.waiting(name)}}
	answers := s.each(ctx, func(ctx context.Context, p primitive) answer { return p.look(ctx, q) })
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	info = &driver.Info{Name: name, Mode: driver.Exclusive}
	var guards []time.Duration
	for _, a := range answers {
		if a.word != failed {
			guards = append(guards, a.left)
		}
	}
	q2 := majority(len(s.nodes))
	if len(guards) < q2 {
		t := s.newTry(&attempt{}, guard.MinTTL, 0, nil)
		return nil, false, t.nodesError(answers)
	}
	slices.Sort(guards)
	if s.form() == fullForm {
		info.Guard = guards[q2-1] // the majority that votes soonest
	}
	for _, same := range byMark(answers) {
		if len(same) >= q2 { // else it is the rest of an earlier hold, or votes of somebody who did not get it
			h := combined(same)
			info.Holders, ours = append(info.Holders, h), h.Label != foreign || h.Token != 0
		}
	}
	return info, ours, nil
}

// List shows every lock of ours whose name begins with prefix, by SCAN on a majority of the nodes; see driver.Inspector. What other programs keep
// there is not shown, though it may be locks: nobody can tell.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[*driver.Info, error] {
	return func(yield func(*driver.Info, error) bool) {
		if prefix != "" {
			if err := driver.CheckName(prefix); err != nil {
				yield(nil, err)
				return
			}
		}
		if err := s.usable(ctx); err != nil {
			yield(nil, err)
			return
		}
		names, err := s.names(ctx, prefix)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, name := range names {
			info, ours, err := s.inspect(ctx, name)
			if err == nil && (!ours || len(info.Holders) == 0) {
				continue
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
	}
}

// names finds the names of what may be locks, on every node that can be asked.
func (s *Store) names(ctx context.Context, prefix string) ([]string, error) {
	seen := make(map[string]bool)
	var names []string
	answered := 0
	var last error
	for _, n := range s.nodes {
		l, err := n.connect(ctx)
		if err == nil {
			err = s.scan(ctx, l, prefix, func(name string) {
				if !seen[name] {
					seen[name] = true
					names = append(names, name)
				}
			})
		}
		if err != nil {
			last = &driver.NodeError{Node: n.name, Err: err}
			continue
		}
		answered++
	}
	if answered < majority(len(s.nodes)) {
		return nil, last
	}
	slices.Sort(names)
	return names, nil
}

// scan calls found for the name of every key that may be a lock.
func (s *Store) scan(ctx context.Context, l *link, prefix string, found func(string)) error {
	for _, pattern := range s.keys.patterns(prefix) {
		for cursor := uint64(0); ; {
			command := l.client.B().Scan().Cursor(cursor).Match(pattern).Count(1000).Type("string").Build()
			entry, err := l.client.Do(ctx, command).AsScanEntry()
			if err != nil {
				return l.guard.Failure(err)
			}
			for _, key := range entry.Elements {
				if name, ok := s.keys.name(key); ok && strings.HasPrefix(name, prefix) {
					found(name)
				}
			}
			if cursor = entry.Cursor; cursor == 0 {
				break
			}
		}
	}
	return nil
}

// Break ends the hold with that token, at every node; see driver.Breaker. Its holder is told at its next renewal.
func (s *Store) Break(ctx context.Context, b *driver.BreakRequest) error {
	if err := driver.CheckName(b.Name); err != nil {
		return err
	}
	if err := s.usable(ctx); err != nil {
		return err
	}
	if b.Mode == driver.Permits || s.form() == plainForm || s.config.untokened {
		return fmt.Errorf("%w: without tokens nobody can say which hold is meant", driver.ErrUnsupported)
	}
	q := &question{keys: []string{s.keys.lock(b.Name), s.keys.store(), s.keys.undone(), s.keys.waiting(b.Name)}}
	answers := s.each(ctx, func(ctx context.Context, p primitive) answer {
		box, ok := p.(ballotBox)
		if !ok {
			return answer{err: errPlain, unsent: true}
		}
		_, a := box.call(ctx, fnBreak, q, strconv.FormatUint(b.Token, 10), flag(b.Now), b.By)
		return a
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	n, q2 := len(answers), majority(len(answers))
	yes, no := 0, 0
	for _, a := range answers {
		switch a.word {
		case done:
			yes++
		case gone:
			no++
		}
	}
	switch {
	case yes >= q2:
		return nil
	case no > n-q2:
		return driver.ErrGone
	}
	return s.newTry(&attempt{}, guard.MinTTL, 0, nil).nodesError(answers)
}
