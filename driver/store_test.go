package driver

import (
	"errors"
	"testing"
	"time"
)

func TestRequestCheck(t *testing.T) {
	attempt := NewAttempts().Next()
	for name, c := range map[string]struct {
		change func(r *Request)
		want   error
		limit  *LimitError
	}{
		"exclusive":             {func(r *Request) {}, nil, nil},
		"shared":                {func(r *Request) { r.Mode = Shared }, nil, nil},
		"all of the permits":    {func(r *Request) { r.Mode, r.N, r.Limit = Permits, 3, 3 }, nil, nil},
		"keep, reserve, nowait": {func(r *Request) { r.Keep, r.Reserve, r.NoWait, r.Label = time.Hour, 9, true, "me" }, nil, nil},
		"no name":               {func(r *Request) { r.Name = "" }, ErrName, nil},
		"control character":     {func(r *Request) { r.Name = "a\n" }, ErrName, nil},
		"no mode":               {func(r *Request) { r.Mode = 0 }, ErrRequest, nil},
		"unknown mode":          {func(r *Request) { r.Mode = Permits + 1 }, ErrRequest, nil},
		"no attempt":            {func(r *Request) { r.Attempt = Attempt{} }, ErrRequest, nil},
		"no TTL":                {func(r *Request) { r.TTL = 0 }, ErrRequest, nil},
		"negative TTL":          {func(r *Request) { r.TTL = -1 }, ErrRequest, nil},
		"negative keep":         {func(r *Request) { r.Keep = -1 }, ErrRequest, nil},
		"N without permits":     {func(r *Request) { r.N = 1 }, ErrRequest, nil},
		"limit without permits": {func(r *Request) { r.Mode, r.Limit = Shared, 1 }, ErrRequest, nil},
		"no permits":            {func(r *Request) { r.Mode, r.Limit = Permits, 1 }, ErrRequest, &LimitError{0, 1, 0}},
		"no limit":              {func(r *Request) { r.Mode, r.N = Permits, 1 }, ErrRequest, &LimitError{1, 0, 0}},
		"negative permits":      {func(r *Request) { r.Mode, r.N, r.Limit = Permits, -1, 1 }, ErrRequest, &LimitError{-1, 1, 0}},
		"more than the limit":   {func(r *Request) { r.Mode, r.N, r.Limit = Permits, 4, 3 }, ErrRequest, &LimitError{4, 3, 0}},
	} {
		r := &Request{Name: "a", Attempt: attempt, Mode: Exclusive, TTL: time.Second}
		c.change(r)
		err := r.Check()
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err != nil && !Answered(err) {
			t.Errorf("%s: %v is no answer, although no store was touched", name, err)
		}
		if limit, ok := errors.AsType[*LimitError](err); ok != (c.limit != nil) || ok && *limit != *c.limit {
			t.Errorf("%s: %#v, want %#v", name, err, c.limit)
		}
	}
}

func TestNamesOfNumbers(t *testing.T) {
	for got, want := range map[string]string{
		Exclusive.String(): "exclusive", Shared.String(): "shared", Permits.String(): "permits", Mode(0).String(): "unknown mode",
		FencingNone.String(): "none", FencingVolatile.String(): "volatile", FencingDurable.String(): "durable", Fencing(9).String(): "unknown",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
