package control

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// patience is for what must happen in the end.
const patience = 20 * time.Second

// A bench has one server, or as many as the control needs, on which its stores are tried.
type bench struct {
	*testing.T
	control  Control
	server   *servers.Redis
	more     []*servers.Redis
	attempts *driver.Attempts
}

func newBench(t *testing.T, name string) *bench {
	t.Helper()
	c, ok := Find(name)
	if !ok {
		t.Fatalf("there is no control %s", name)
	}
	b := &bench{t, c, startRedis(t), nil, driver.NewAttempts()}
	for len(b.more)+1 < c.Nodes {
		b.more = append(b.more, startRedis(t))
	}
	return b
}

// both runs a test on the broken lock and on the twin, each on a server of its own.
func both(t *testing.T, name string, test func(b *bench, broken bool)) {
	for _, broken := range []bool{true, false} {
		t.Run(fmt.Sprintf("broken=%v", broken), func(t *testing.T) { test(newBench(t, name), broken) })
	}
}

// ctx ends when the test has waited for too long.
func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	b.Cleanup(cancel)
	return ctx
}

func (b *bench) open(o Options) driver.Store {
	b.Helper()
	if o.Addr == "" {
		o.Addr = b.server.Addr()
		for _, server := range b.more {
			o.More = append(o.More, server.Addr())
		}
	}
	s, err := b.control.Open(b.ctx(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// ask is a new attempt to get the lock, with a TTL that does not run out within a test.
func (b *bench) ask() *driver.Request {
	return &driver.Request{Name: "lock", Attempt: b.attempts.Next(), Mode: driver.Exclusive, TTL: time.Minute, Label: "test"}
}

func (b *bench) grant(s driver.Store, r *driver.Request) *driver.Grant {
	b.Helper()
	g, err := s.Acquire(b.ctx(), r)
	if err != nil {
		b.Fatalf("Acquire: %v", err)
	}
	return g
}

// isFree asks once, and gives the lock back if it got it.
func (b *bench) isFree(s driver.Store) bool {
	b.Helper()
	r := b.ask()
	r.NoWait = true
	_, err := s.Acquire(b.ctx(), r)
	if _, held := errors.AsType[*driver.Held](err); held {
		return false
	}
	if err != nil {
		b.Fatalf("Acquire without waiting: %v", err)
	}
	b.release(s, r)
	return true
}

func (b *bench) release(s driver.Store, r *driver.Request) {
	b.Helper()
	if err := s.Release(b.ctx(), r); err != nil {
		b.Fatalf("Release: %v", err)
	}
}

func (b *bench) do(args ...string) any {
	b.Helper()
	answer, err := b.server.Do(b.ctx(), args...)
	if err != nil {
		b.Fatalf("%v: %v", args, err)
	}
	return answer
}

// until waits for a condition.
func (b *bench) until(what string, is func() bool) {
	b.Helper()
	for begun := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > patience {
			b.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// pass lets time pass by the machine's clock, and asks meanwhile.
func (b *bench) pass(d time.Duration, meanwhile func()) {
	for end := driver.Boot().Now().Add(d); driver.Boot().Now().Before(end); time.Sleep(time.Millisecond) {
		meanwhile()
	}
}
