package redislock

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
)

// Inspect shows the lock, or with driver.Permits the semaphore, of that name; see driver.Inspector.
func (s *Store) Inspect(ctx context.Context, name string, mode driver.Mode) (*driver.Info, error) {
	if err := driver.CheckName(name); err != nil {
		return nil, err
	}
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	st, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	s.surface(ctx)
	return s.inspect(ctx, st, name, mode)
}

// inspect shows what the server knows.
func (s *Store) inspect(ctx context.Context, st *opened, name string, mode driver.Mode) (*driver.Info, error) {
	message, err := engine.Call(ctx, s.client, fnInspect, []string{s.keys.lock(name, mode), s.keys.store()}, []string{st.id})
	if err != nil {
		return nil, s.failure(err)
	}
	fields, err := message.ToArray()
	if err != nil || len(fields) != 4 {
		return nil, s.strange(ctx, fnInspect)
	}
	info := readInfo(name, mode, fields)
	if info.Guard > 0 {
		info.Why = s.guardReason(ctx)
	}
	return info, nil
}

func readInfo(name string, mode driver.Mode, fields []rueidis.RedisMessage) *driver.Info {
	r := reply{rest: fields}
	info := &driver.Info{Name: name, Mode: driver.Exclusive, Guard: r.span(1)}
	if mode == driver.Permits {
		info.Mode, info.Limit = driver.Permits, int(r.number(0))
	}
	holders, _ := fields[2].ToArray()
	for _, h := range holders {
		info.Holders = append(info.Holders, readHolder(h))
	}
	if len(info.Holders) > 0 {
		info.Mode = info.Holders[0].Mode
	}
	waiters, _ := fields[3].ToArray()
	for _, m := range waiters {
		parts, _ := m.ToArray()
		w := reply{rest: parts}
		info.Waiters = append(info.Waiters, driver.Waiter{Label: w.text(0), Mode: driver.Mode(w.number(1)), N: int(w.number(2)), Waited: w.span(3)})
	}
	return info
}

// List shows everything whose name begins with prefix, by SCAN: nothing stands still while it runs; see driver.Inspector.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[*driver.Info, error] {
	return func(yield func(*driver.Info, error) bool) {
		st, err := s.checkPrefix(ctx, prefix)
		if err != nil {
			yield(nil, err)
			return
		}
		s.surface(ctx)
		for _, mode := range []driver.Mode{driver.Exclusive, driver.Permits} {
			for name, err := range s.scan(ctx, prefix, mode) {
				info, err := s.shown(ctx, st, name, mode, err)
				if err == nil && info == nil {
					continue // has ended since
				}
				if !yield(info, err) || err != nil {
					return
				}
			}
		}
	}
}

func (s *Store) checkPrefix(ctx context.Context, prefix string) (*opened, error) {
	if prefix != "" {
		if err := driver.CheckName(prefix); err != nil {
			return nil, err
		}
	}
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	return s.opened(ctx)
}

// shown inspects one of a list; nil if there is nothing to show.
func (s *Store) shown(ctx context.Context, st *opened, name string, mode driver.Mode, err error) (*driver.Info, error) {
	if err != nil {
		return nil, err
	}
	info, err := s.inspect(ctx, st, name, mode)
	if errors.Is(err, ErrKeyType) {
		return nil, nil // somebody else's
	}
	if err == nil && len(info.Holders)+len(info.Waiters) == 0 {
		return nil, nil
	}
	return info, err
}

// scan yields names, each once.
func (s *Store) scan(ctx context.Context, prefix string, mode driver.Mode) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		seen := make(map[string]bool)
		for cursor := uint64(0); ; {
			command := s.client.B().Scan().Cursor(cursor).Match(s.keys.pattern(prefix, mode)).Count(1000).Build()
			entry, err := s.client.Do(ctx, command).AsScanEntry()
			if err != nil {
				yield("", s.failure(err))
				return
			}
			for _, key := range entry.Elements {
				name, ours := s.keys.name(key, mode)
				if !ours || seen[name] {
					continue
				}
				seen[name] = true
				if !yield(name, nil) {
					return
				}
			}
			if cursor = entry.Cursor; cursor == 0 {
				return
			}
		}
	}
}

// Break ends the hold with that token, or all readers that share it; see driver.Breaker.
func (s *Store) Break(ctx context.Context, b *driver.BreakRequest) error {
	if err := driver.CheckName(b.Name); err != nil {
		return err
	}
	if err := s.usable(ctx); err != nil {
		return err
	}
	st, err := s.opened(ctx)
	if err != nil {
		return err
	}
	s.surface(ctx)
	answer, err := s.callAt(ctx, st, fnBreak, s.keys.lock(b.Name, b.Mode), strconv.FormatUint(b.Token, 10), flag(b.Now), b.By)
	switch {
	case err != nil:
		return err
	case answer.says == saysGone:
		return driver.ErrGone
	case answer.says != saysGranted:
		return s.strange(ctx, fnBreak)
	}
	return nil
}
