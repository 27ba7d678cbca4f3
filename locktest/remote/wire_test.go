package remote

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"reflect"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// cross sends an error over the wire.
func cross(t *testing.T, err error) error {
	t.Helper()
	var wire bytes.Buffer
	if err := gob.NewEncoder(&wire).Encode(&reply{Err: fail(err)}); err != nil {
		t.Fatal(err)
	}
	got := new(reply)
	if err := gob.NewDecoder(&wire).Decode(got); err != nil {
		t.Fatal(err)
	}
	return got.Err.error()
}

func TestErrorsCross(t *testing.T) {
	if err := cross(t, nil); err != nil {
		t.Errorf("nil became %v", err)
	}
	holder := driver.Holder{Label: "a", Token: 1<<64 - 1, Mode: driver.Shared, Left: driver.Forever}
	held := &driver.Held{Holders: []driver.Holder{holder}, RetryIn: time.Second}
	everything := append([]error{
		held, &driver.Held{}, &driver.Guarded{Left: time.Minute}, &driver.Guarded{}, &driver.Broken{By: "b", Now: true}, &driver.Broken{},
		&driver.LimitError{N: 1, Want: 2, Have: 3}, &driver.Refused{Err: errors.New("read-only")}, errors.New("disk on fire"),
		errors.Join(&driver.Broken{By: "b"}, driver.ErrGone),
	}, sentinels...)
	for _, err := range everything {
		for _, sent := range []error{err, fmt.Errorf("wrapped: %w", err)} {
			got := cross(t, sent)
			if got.Error() != sent.Error() {
				t.Errorf("%q became %q", sent, got)
			}
			if driver.Answered(got) != driver.Answered(sent) {
				t.Errorf("%q: an answer became unknown, or the other way round", sent)
			}
			for _, sentinel := range sentinels {
				if errors.Is(got, sentinel) != errors.Is(sent, sentinel) {
					t.Errorf("%q: is it %q? %v became %v", sent, sentinel, errors.Is(sent, sentinel), errors.Is(got, sentinel))
				}
			}
			sameAs[*driver.Held](t, sent, got)
			sameAs[*driver.Guarded](t, sent, got)
			sameAs[*driver.Broken](t, sent, got)
			sameAs[*driver.LimitError](t, sent, got)
			sameAs[*driver.Refused](t, sent, got)
		}
	}
}

func sameAs[E error](t *testing.T, sent, got error) {
	t.Helper()
	a, isA := errors.AsType[E](sent)
	b, isB := errors.AsType[E](got)
	if isA != isB || (isA && !reflect.DeepEqual(a, b) && a.Error() != b.Error()) {
		t.Errorf("%q: %#v became %#v", sent, a, b)
	}
}

// A context of the server's has ended: at the client that is neither its own context's end nor an answer.
func TestContextErrorsCrossAsUnknown(t *testing.T) {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		got := cross(t, errors.Join(&driver.Held{}, driver.ErrGone, end))
		if driver.Answered(got) || errors.Is(got, end) || errors.Is(got, driver.ErrGone) {
			t.Errorf("%q crossed as more than its text", got)
		}
	}
}

func TestRequestsCross(t *testing.T) {
	r := &driver.Request{
		Name: "n", Attempt: driver.NewAttempts().Next(), Label: "not UTF-8: \xff", Mode: driver.Permits, N: 2, Limit: 3,
		TTL: 4, Keep: 5, NoWait: true, Reserve: 6,
	}
	var wire bytes.Buffer
	if err := gob.NewEncoder(&wire).Encode(&call{Request: pack(r)}); err != nil {
		t.Fatal(err)
	}
	c := new(call)
	if err := gob.NewDecoder(&wire).Decode(c); err != nil {
		t.Fatal(err)
	}
	got, err := c.Request.unpack()
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v became %+v, %v", r, got, err)
	}
	if _, err := (request{Attempt: "x"}).unpack(); !errors.Is(err, driver.ErrRequest) {
		t.Errorf("a malformed attempt: %v; want ErrRequest", err)
	}
}

// Sending never blocks: a peer that does not read is cut off.
func TestPeerThatDoesNotRead(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	var work sync.WaitGroup
	w := newWire(near, &work)
	for range maxQueued + 2 { // one is being written
		w.send(&reply{})
	}
	<-w.gone
	work.Wait()
}
