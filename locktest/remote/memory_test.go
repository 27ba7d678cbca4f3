package remote

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

func size(m *sync.Map) (n int) {
	m.Range(func(any, any) bool { n++; return true })
	return n
}

// What is over is forgotten, on both sides.
func TestNothingIsRemembered(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	srv := &server{store: memlock.New()}
	var serving sync.WaitGroup
	serving.Go(func() {
		if conn, err := l.Accept(); err == nil {
			srv.serve(t.Context(), conn)
		}
	})
	opened, err := Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*store)
	attempts := driver.NewAttempts()
	request := func() *driver.Request {
		return &driver.Request{Name: "x", Attempt: attempts.Next(), Mode: driver.Exclusive, TTL: time.Hour}
	}

	held := request()
	if _, err := s.Acquire(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	refused := request()
	refused.NoWait = true
	if _, err := s.Acquire(t.Context(), refused); !errors.As(err, new(*driver.Held)) {
		t.Fatalf("Acquire = %v; want *Held", err)
	}
	if n := size(&s.owners); n != 1 {
		t.Errorf("%d owners are remembered; want the holder", n)
	}
	cancelled := request()
	ctx, cancel := context.WithCancel(t.Context())
	cancelled.Waiting = func(driver.Progress) { cancel() }
	if _, err := s.Acquire(ctx, cancelled); !errors.Is(err, context.Canceled) {
		t.Fatalf("Acquire = %v; want Canceled", err)
	}
	for _, r := range []*driver.Request{held, cancelled} {
		if err := s.Release(t.Context(), r); err != nil {
			t.Fatalf("Release: %v", err)
		}
	}
	if n := size(&s.owners); n != 0 {
		t.Errorf("%d owners are remembered after Release", n)
	}
	if n := size(&s.client.conn.pending); n != 0 {
		t.Errorf("%d calls are pending after all have returned", n)
	}
	if n := size(&srv.leases); n != 0 {
		t.Errorf("%d leases are remembered after Release", n)
	}
	s.Close()
	serving.Wait()
}

// Lost is called at most once for an attempt, whatever the server reports and however often it was asked for.
func TestLostIsCalledOnce(t *testing.T) {
	calls := 0
	s, k := new(store), key{Name: "x"}
	for range 2 {
		s.owners.LoadOrStore(k, &owner{lost: func(error) { calls++ }})
		s.tellLost(k, driver.ErrGone)
	}
	s.tellLost(key{Name: "unknown"}, driver.ErrGone)
	if calls != 1 {
		t.Errorf("Lost was called %d times; want once", calls)
	}
}

// The goroutine that receives never waits for a caller who does not look at its progress; the newest is kept.
func TestProgressIsReplaced(t *testing.T) {
	w := &wait{make(chan *reply, 1), make(chan driver.Progress, 1)}
	for place := 3; place > 0; place-- {
		w.put(&reply{Progress: &driver.Progress{Place: place}})
	}
	if p := <-w.progress; p.Place != 1 {
		t.Errorf("the newest progress is %+v; want place 1", p)
	}
}
