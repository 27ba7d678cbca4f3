package redlock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/driver"
)

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
	q := &question{keys: s.keys.of(name)}
	replies, ended := s.each(ctx, func(ctx context.Context, p primitive) answer { return p.look(ctx, q) })
	if _, err := answered(s, replies); err != nil {
		return nil, false, joined(err, ended)
	}
	info = &driver.Info{Name: name, Mode: driver.Exclusive}
	var guards []time.Duration
	var answers []answer
	for _, r := range replies {
		if r.err == nil {
			guards, answers = append(guards, r.value.left), append(answers, r.value)
		}
	}
	q2 := majority(len(s.nodes))
	slices.Sort(guards)
	if s.form() == fullForm {
		info.Guard = guards[q2-1] // the majority that votes soonest
	}
	for _, same := range byMark(answers) {
		if len(same) >= q2 && isHold(same) { // else it is the rest of an earlier hold, or votes of somebody who did not get it
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

// errHalf: some nodes have done it, some have it not, and the rest do not answer.
var errHalf = errors.New("it is broken at some of the nodes, and the others that would make a majority do not answer; ask again")

// joined is err, and, if there is one, why it was not waited for longer.
func joined(err, ended error) error {
	if ended == nil {
		return err
	}
	return fmt.Errorf("%w; %w", err, ended)
}

// names finds the names of what may be locks, on every node that can be asked.
func (s *Store) names(ctx context.Context, prefix string) ([]string, error) {
	replies, ended := gather(ctx, s, scanFor, openGrace, func(ctx context.Context, n *node) (found []string, err error) {
		l, err := n.connect(ctx)
		if err == nil {
			err = s.scan(ctx, l, prefix, func(name string) { found = append(found, name) })
		}
		return found, err
	})
	if _, err := answered(s, replies); err != nil {
		return nil, joined(err, ended)
	}
	var names []string
	for _, r := range replies {
		names = append(names, r.value...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// scanFor is how long a node has to list its keys.
const scanFor = 10 * time.Minute

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
	q := &question{keys: s.keys.of(b.Name)}
	replies, ended := s.each(ctx, func(ctx context.Context, p primitive) answer {
		box, ok := p.(*ballotBox)
		if !ok {
			return answer{err: errPlain, unsent: true}
		}
		_, a := box.call(ctx, fnBreak, q, strconv.FormatUint(b.Token, 10), flag(b.Now), b.By)
		return a
	})
	broke := tally{n: len(replies)}
	for _, r := range replies {
		switch {
		case r.err == nil && r.value.word == done:
			broke.yes++
		case r.err == nil && r.value.word == gone:
			broke.no++
		}
	}
	switch _, err := answered(s, replies); {
	case broke.won():
		return nil
	case broke.lost():
		return driver.ErrGone
	case err != nil:
		return joined(err, ended)
	}
	return joined(errHalf, ended)
}
