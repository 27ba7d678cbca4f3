package redislock

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
)

// Inspect shows the lock, or with driver.Permits the semaphore, of that name; see driver.Inspector.
func (s *Store) Inspect(ctx context.Context, name string, mode driver.Mode) (*driver.Info, error) {
	if err := driver.CheckName(name); err != nil {
		return nil, err
	}
	if err := s.guard.Usable(ctx); err != nil {
		return nil, err
	}
	st, err := s.guard.Opened(ctx)
	if err != nil {
		return nil, err
	}
	s.surface(ctx)
	return s.inspect(ctx, st, name, mode)
}

// inspect shows what the server knows.
func (s *Store) inspect(ctx context.Context, st *guard.Opened, name string, mode driver.Mode) (*driver.Info, error) {
	message, err := engine.Call(ctx, s.client, fnInspect, []string{s.keys.lock(name, mode), s.keys.store()}, []string{st.ID})
	if err != nil {
		return nil, s.guard.Failure(err)
	}
	fields, err := message.ToArray()
	if err != nil || len(fields) != 4 {
		return nil, s.guard.Strange(ctx, fnInspect)
	}
	info := readInfo(name, mode, fields)
	if info.Guard > 0 {
		info.Why = s.guard.Reason(ctx)
	}
	return info, nil
}

func readInfo(name string, mode driver.Mode, fields []rueidis.RedisMessage) *driver.Info {
	r := guard.Reply{Rest: fields}
	info := &driver.Info{Name: name, Mode: driver.Exclusive, Guard: r.Span(1), Holders: readHolders(r.Array(2), 0)}
	if mode == driver.Permits {
		info.Mode, info.Limit = driver.Permits, int(r.Number(0))
	}
	if len(info.Holders) > 0 {
		info.Mode = info.Holders[0].Mode
	}
	waiters := r.Array(3)
	for i := range waiters.Rest {
		w := waiters.Array(i)
		info.Waiters = append(info.Waiters, driver.Waiter{Label: w.Text(0), Mode: driver.Mode(w.Number(1)), N: int(w.Number(2)), Waited: w.Span(3)})
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

func (s *Store) checkPrefix(ctx context.Context, prefix string) (*guard.Opened, error) {
	if prefix != "" {
		if err := driver.CheckName(prefix); err != nil {
			return nil, err
		}
	}
	if err := s.guard.Usable(ctx); err != nil {
		return nil, err
	}
	return s.guard.Opened(ctx)
}

// shown inspects one of a list; nil if there is nothing to show.
func (s *Store) shown(ctx context.Context, st *guard.Opened, name string, mode driver.Mode, err error) (*driver.Info, error) {
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
				yield("", s.guard.Failure(err))
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
	if err := s.guard.Usable(ctx); err != nil {
		return err
	}
	st, err := s.guard.Opened(ctx)
	if err != nil {
		return err
	}
	s.surface(ctx)
	answer, err := s.callAt(ctx, st, fnBreak, s.keys.lock(b.Name, b.Mode), strconv.FormatUint(b.Token, 10), flag(b.Now), b.By)
	switch {
	case err != nil:
		return err
	case answer.Says == saysGone:
		return driver.ErrGone
	case answer.Says != saysGranted:
		return s.guard.Strange(ctx, fnBreak)
	}
	return nil
}
