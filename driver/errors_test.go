package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"
)

func TestAnswered(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("connection reset"), false},
		{io.EOF, false},
		{ErrClosed, false},
		{ErrSession, false},
		{ErrURL, false},
		{context.Canceled, false},
		{context.DeadlineExceeded, false},
		{ErrGone, true},
		{ErrBroken, true},
		{ErrDeadlock, true},
		{ErrUnsupported, true},
		{ErrStale, true},
		{ErrRequest, true},
		{ErrName, true},
		{&Held{}, true},
		{&Guarded{}, true},
		{&Broken{}, true},
		{&LimitError{}, true},
		{&Refused{io.EOF}, true},
		{CheckName(""), true},
		{requestError("x"), true},
	} {
		for _, err := range []error{c.err, errors.Join(c.err), errors.Join(ErrGone, c.err)} {
			if want := c.want || err != c.err && c.err == nil && errors.Is(err, ErrGone); Answered(err) != want {
				t.Errorf("Answered(%v) = %t, want %t", err, !want, want)
			}
		}
		// Of several nodes all must have answered.
		if err := errors.Join(c.err, &NodeError{"node 2", io.EOF}); Answered(err) {
			t.Errorf("%v is an answer, although a node is unknown", err)
		}
		if c.err == nil {
			continue
		}
		if wrapped := fmt.Errorf("node 1: %w", c.err); Answered(wrapped) != c.want {
			t.Errorf("Answered(%v) = %t, want %t", wrapped, !c.want, c.want)
		}
		for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
			if err := errors.Join(c.err, ended); Answered(err) {
				t.Errorf("%v is an answer, although the request may still be under way", err)
			}
		}
	}
	if Answered(&Refused{context.Canceled}) {
		t.Error("a refusal because of a context is an answer")
	}
}

func TestHeldText(t *testing.T) {
	a := Holder{Label: "web-1:4711", Held: 1234 * time.Millisecond, Token: 41}
	for _, c := range []struct {
		held Held
		want string
	}{
		{Held{}, "held"},
		{Held{RetryIn: 1500 * time.Millisecond}, "held; free in 1.5s unless it is renewed"},
		{Held{RetryIn: 1}, "held; free in 1ms unless it is renewed"},
		{Held{Holders: []Holder{a}}, `held by "web-1:4711" for 1.2s (token 41)`},
		{Held{Holders: []Holder{{}}}, `held by "someone without a label" (without a token)`},
		{Held{Holders: []Holder{{Label: "another program", Mode: Exclusive, Left: Forever}}}, `held by "another program" (it never expires)`},
		{Held{Holders: []Holder{{Label: "a", Token: 3, Left: Forever}}}, `held by "a" for 0s (token 3)`},
		{Held{Holders: []Holder{{Label: "a\nb"}}}, `held by "a\nb" (without a token)`},
		{Held{Holders: []Holder{{Kept: true, Left: 12345 * time.Millisecond}}}, "held by nobody, but kept by a minimum hold for another 12s"},
		{Held{Holders: []Holder{{Kept: true, Left: 5 * time.Second}}, RetryIn: 5 * time.Second},
			"held by nobody, but kept by a minimum hold for another 5s; free in 5s"},
		{Held{Holders: []Holder{{Kept: true, Left: 5 * time.Second}, {Label: "a", Left: Forever}}, RetryIn: 5 * time.Second},
			`held by nobody, but kept by a minimum hold for another 5s, "a" (it never expires); ask again in 5s`},
		{Held{Holders: []Holder{{Kept: true, Left: 5 * time.Second}, {Label: "a", Left: time.Second}}, RetryIn: time.Second},
			`held by nobody, but kept by a minimum hold for another 5s, "a" (without a token); free in 1s unless it is renewed`},
		{Held{Holders: []Holder{{Label: "a", Token: 3, Broken: true}}}, `held by "a" for 0s (token 3, told to end, not released yet)`},
		{Held{Holders: []Holder{{Label: "a", Mode: Permits, N: 1}, {Label: "b", Mode: Permits, N: 2}}},
			`held by "a" (1 permit, without a token), "b" (2 permits, without a token)`},
		{Held{Holders: []Holder{a, a}, RetryIn: time.Minute},
			`held by "web-1:4711" for 1.2s (token 41), "web-1:4711" for 1.2s (token 41); free in 1m0s unless it is renewed`},
		{Held{Holders: []Holder{{Label: "a"}, {Label: "b"}, {Label: "c"}}},
			`held by "a" (without a token), "b" (without a token), "c" (without a token)`},
		{Held{Holders: []Holder{{Label: "a"}, {Label: "b"}, {Label: "c"}, {Label: "d"}, {Label: "e"}}},
			`held by "a" (without a token), "b" (without a token), "c" (without a token), 2 more`},
	} {
		if got := c.held.Error(); got != c.want {
			t.Errorf("says %s\nwant %s", got, c.want)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		"the store grants nothing yet; locks granted before may still be valid: 2.5s left; guard= sets it": &Guarded{Left: 2500 * time.Millisecond},
		"this Redis started 2s ago; locks granted before may still be valid: 2.5s left; guard= sets it":    &Guarded{2500 * time.Millisecond, "this Redis started 2s ago"},
		"the hold was broken":                 &Broken{},
		`the hold was broken by "ops\x00"`:    &Broken{By: "ops\x00"},
		"refused: read-only":                  &Refused{errors.New("read-only")},
		"malformed request: it has no friend": requestError("it has no friend"),
		"5 permits of a limit of 3: ask for at least one and at most the limit":                             &LimitError{N: 5, Want: 3},
		"0 permits of a limit of 3: ask for at least one and at most the limit":                             &LimitError{N: 0, Want: 3},
		"the limit is 0: name at least 1":                                                                   &LimitError{N: 1, Want: 0},
		"the limit is -2: name at least 1":                                                                  &LimitError{N: -3, Want: -2},
		"the limit is 3 here but 4 where the semaphore is in use: everybody who uses it must name the same": &LimitError{N: 1, Want: 3, Have: 4},
	} {
		if err.Error() != want {
			t.Errorf("says %s\nwant %s", err, want)
		}
	}
}

func TestErrorIdentities(t *testing.T) {
	for _, c := range []struct {
		err, target error
		want        bool
	}{
		{&Broken{}, ErrBroken, true},
		{&Broken{}, ErrGone, false},
		{&Broken{Now: true}, ErrBroken, true},
		{&Broken{Now: true}, ErrGone, true},
		{&LimitError{}, ErrRequest, true},
		{&LimitError{}, ErrUnsupported, false},
		{&Refused{io.EOF}, io.EOF, true},
		{&URLError{}, ErrURL, true},
		{&URLError{}, ErrRequest, false},
	} {
		if got := errors.Is(c.err, c.target); got != c.want {
			t.Errorf("errors.Is(%#v, %q) = %t", c.err, c.target, got)
		}
	}
}

func TestRound(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                        "0s",
		1:                        "1ms",
		999 * time.Microsecond:   "1ms",
		1600 * time.Microsecond:  "2ms",
		999 * time.Millisecond:   "999ms",
		1249 * time.Millisecond:  "1.2s",
		9999 * time.Millisecond:  "10s",
		75400 * time.Millisecond: "1m15s",
		-time.Microsecond:        "0s",
	} {
		if got := round(d).String(); got != want {
			t.Errorf("%v is shown as %s, want %s", d, got, want)
		}
	}
}
