package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/redislock"
)

// A server that becomes a replica while locks are held refuses what comes. Another one is the primary now, or will be: so it is asked again,
// and who gives up is told why; what is held stays held, as far as is known.
func TestBecomesAReplica(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	locks := openLocks(t, "redis://"+s.Addr()+"?guard=0")
	held := holdLock(t, locks, "held")
	command(t, s, "REPLICAOF", "127.0.0.1", "1")
	readOnly := func(what string, ask func() error) { // the connections are given up, because this is no primary: an answer may be lost by that
		t.Helper()
		until(t, what+" is told that it is a replica", func() bool {
			err := ask()
			if err == nil || driver.Answered(err) {
				t.Fatalf("%s: %v", what, err)
			}
			return errors.Is(err, redislock.ErrReadOnly)
		})
	}
	readOnly("Lock", func() error {
		soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := locks.Mutex("free").Lock(soon)
		return err
	})
	readOnly("TryLock", func() error {
		_, err := locks.Mutex("free").TryLock(inTime(t))
		return err
	})
	readOnly("Extend", func() error { return held.Extend(inTime(t), 2*time.Hour) })
	if held.Err() != nil {
		t.Errorf("a renewal that is refused ends the hold: %v", held.Err())
	}
	command(t, s, "REPLICAOF", "NO", "ONE")
	if err := held.Unlock(); err != nil {
		t.Errorf("once it is the primary again: %v", err)
	}
}

// functions is the code of functions with names of ours that all do the same.
func functions(body string, names ...string) string {
	var code strings.Builder
	for _, name := range names {
		fmt.Fprintf(&code, "redis.register_function('holdfast_1_%s', function() %s end)\n", name, body)
	}
	return code.String()
}

// What somebody puts in the place of our library is found out: by its answers, or because a function is missing.
func TestReplacedLibrary(t *testing.T) {
	t.Parallel()
	for what, code := range map[string]string{
		"other answers": functions("return 1", "open", "acquire", "release", "renew", "break", "inspect"),
		"odd arrays":    functions("return {'?', 1}", "open", "acquire", "release", "renew", "break", "inspect"),
		"no answers":    functions("return false", "open", "acquire", "release", "renew", "break", "inspect"),
		"no functions":  "redis.register_function('mine', function() return 1 end)",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := startRedis(t)
			locks := openLocks(t, "redis://"+s.Addr()+"?guard=0")
			held := holdLock(t, locks, "held")
			command(t, s, "FUNCTION", "LOAD", "REPLACE", "#!lua name=holdfast_1\n"+code)
			_, err := locks.Mutex("free").Lock(inTime(t))
			refused(t, err, redislock.ErrReplaced, true, "FUNCTION DELETE")
			refused(t, held.Extend(inTime(t), 2*time.Hour), redislock.ErrReplaced, true, "FUNCTION DELETE")
			_, err = locks.Inspect(inTime(t), "held")
			refused(t, err, redislock.ErrReplaced, true, "FUNCTION DELETE")
			if held.Err() != nil {
				t.Errorf("the hold has ended: %v", held.Err())
			}
			command(t, s, "FUNCTION", "DELETE", "holdfast_1")
			if err := held.Unlock(); err != nil {
				t.Errorf("once theirs is gone ours is loaded again: %v", err)
			}
		})
	}
}

// A function that fails in the middle is unknown: it is asked again for as long as the caller waits, and no longer.
func TestFailingLibrary(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	locks := openLocks(t, "redis://"+s.Addr()+"?guard=0")
	command(t, s, "FUNCTION", "LOAD", "REPLACE", "#!lua name=holdfast_1\n"+functions("local x; return x.y", "acquire", "release"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := locks.Mutex("a").Lock(ctx)
	var store *holdfast.StoreError
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &store) || driver.Answered(err) {
		t.Errorf("a function that fails: %v", err)
	}
	command(t, s, "FUNCTION", "DELETE", "holdfast_1")
	holdLock(t, locks, "a").Unlock()
}

// Something else at a lock's key is nobody's lock: it is left alone.
func TestStrangerAtTheKey(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	locks := openLocks(t, "redis://"+s.Addr()+"?guard=0")
	command(t, s, "SET", "holdfast:lock:{a}", canary)
	command(t, s, "RPUSH", "holdfast:permits:{a}", canary)
	_, err := locks.Mutex("a").Lock(inTime(t))
	refused(t, err, redislock.ErrKeyType, true, "prefix")
	_, err = locks.Semaphore("a", 2).Acquire(inTime(t), 1)
	refused(t, err, redislock.ErrKeyType, true, "prefix")
	_, err = locks.Inspect(inTime(t), "a")
	refused(t, err, redislock.ErrKeyType, true, "prefix")
	for _, err := range locks.List(inTime(t), "") {
		t.Errorf("it is listed, or listing fails: %v", err)
	}
	if got := command(t, s, "GET", "holdfast:lock:{a}"); got != canary {
		t.Errorf("the stranger's value is %v", got)
	}
	command(t, s, "DEL", "holdfast:lock:{a}", "holdfast:permits:{a}")
	held := holdLock(t, locks, "a")
	command(t, s, "SET", "holdfast:lock:{a}", canary)
	refused(t, held.Extend(inTime(t), 2*time.Hour), redislock.ErrKeyType, true, "prefix")
	if held.Err() != nil {
		t.Errorf("a renewal that is refused ends the hold: %v", held.Err())
	}
}

// Something else at the store's key, while it is in use.
func TestStrangerAtTheStore(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	locks := openLocks(t, "redis://"+s.Addr()+"?guard=0")
	held := holdLock(t, locks, "held")
	command(t, s, "SET", "holdfast:store", canary)
	until(t, "the server reads the store's key again", func() bool {
		_, err := locks.Mutex("held").TryLock(inTime(t))
		return !errors.Is(err, holdfast.ErrHeld)
	})
	_, err := locks.Mutex("held").TryLock(inTime(t))
	refused(t, err, redislock.ErrKeyType, true, "prefix")
	refused(t, held.Extend(inTime(t), 2*time.Hour), redislock.ErrKeyType, true, "prefix")
	command(t, s, "DEL", "holdfast:store")
	if err := held.Unlock(); err != nil {
		t.Errorf("once the key is free it is written again: %v", err)
	}
}

// A user whose rights are taken away, while locks are held.
func TestRightsTakenAway(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	command(t, s, "ACL", "SETUSER", "app", "on", ">"+canary, "~*", "&*", "+@all")
	locks := openLocks(t, "redis://app:"+canary+"@"+s.Addr()+"?guard=0")
	held := holdLock(t, locks, "held")
	command(t, s, "ACL", "SETUSER", "app", "-fcall")
	_, err := locks.Mutex("free").Lock(inTime(t))
	refused(t, err, redislock.ErrPermission, true, "ACL")
	if held.Err() != nil {
		t.Errorf("the hold has ended: %v", held.Err())
	}
	command(t, s, "ACL", "SETUSER", "app", "+fcall")
	if err := held.Unlock(); err != nil {
		t.Error(err)
	}
}

// A password that is changed: connections that are there go on, new ones are refused.
func TestPasswordChanged(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	command(t, s, "ACL", "SETUSER", "app", "on", ">"+canary, "~*", "&*", "+@all")
	locks := openLocks(t, "redis://app:"+canary+"@"+s.Addr()+"?guard=0")
	held := holdLock(t, locks, "held")
	command(t, s, "ACL", "SETUSER", "app", "resetpass", ">other")
	command(t, s, "CLIENT", "KILL", "USER", "app")
	_, err := locks.Mutex("free").Lock(inTime(t))
	refused(t, err, redislock.ErrAuth, true, "correct")
	if held.Err() != nil {
		t.Errorf("the hold has ended: %v", held.Err())
	}
	command(t, s, "ACL", "SETUSER", "app", ">"+canary)
	if err := held.Unlock(); err != nil { // an attempt to connect that began before may still fail; then it goes on in the background
		refused(t, err, redislock.ErrAuth, true, "background")
	}
	until(t, "the lock is free", func() bool {
		again, err := locks.Mutex("held").TryLock(inTime(t))
		if err == nil {
			again.Unlock()
		}
		return err == nil
	})
}

// Whatever the server does, or does not, nobody waits longer than its context.
func TestNoHangBeyondTheContext(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	locks := openLocks(t, "redis://"+s.Addr()+"?guard=0")
	other := openLocks(t, "redis://"+s.Addr()+"?guard=0")
	held := holdLock(t, locks, "held")
	if err := s.Stop(); err != nil {
		t.Skip(err)
	}
	const short = 100 * time.Millisecond
	for what, do := range map[string]func(ctx context.Context) error{
		"Lock":    func(ctx context.Context) error { _, err := other.Mutex("free").Lock(ctx); return err },
		"TryLock": func(ctx context.Context) error { _, err := other.Mutex("free").TryLock(ctx); return err },
		"Extend":  func(ctx context.Context) error { return held.Extend(ctx, 2*time.Hour) },
		"Inspect": func(ctx context.Context) error { _, err := locks.Inspect(ctx, "held"); return err },
		"Break":   func(ctx context.Context) error { return locks.Break(ctx, "held", held.Token()+1) }, // it may arrive when the server goes on
		"Open": func(ctx context.Context) error {
			_, err := holdfast.Open(ctx, "redis://:"+canary+"@"+s.Addr())
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), short)
		begun := time.Now()
		err := do(ctx)
		cancel()
		if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took > short+10*time.Second {
			t.Errorf("%s on a server that hangs: %v, after %v", what, err, took)
		}
		secretless(t, err)
	}
	if err := s.Continue(); err != nil {
		t.Fatal(err)
	}
	if err := held.Unlock(); err != nil {
		t.Error(err)
	}
}

// Nobody at the address: said at once by Open, with what to do.
func TestNobodyThere(t *testing.T) {
	_, err := holdfast.Open(inTime(t), "redis://:"+canary+"@127.0.0.1:1")
	var store *holdfast.StoreError
	if !errors.As(err, &store) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "nobody listens") {
		t.Errorf("nobody at the address: %v", err)
	}
	secretless(t, err)
}
