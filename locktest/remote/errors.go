package remote

import (
	"context"
	"encoding/gob"
	"errors"

	"holdfast.dev/driver"
)

// A failure is an error on the wire: its text, and everything of package driver that it is.
type failure struct {
	Text  string
	Is    uint  // bit i: it is sentinels[i]
	Parts []any // *driver.Held and the like
}

var sentinels = []error{
	driver.ErrGone, driver.ErrSession, driver.ErrBroken, driver.ErrDeadlock, driver.ErrUnsupported,
	driver.ErrStale, driver.ErrRequest, driver.ErrClosed, driver.ErrName,
}

func init() {
	for _, part := range []any{new(driver.Held), new(driver.Guarded), new(driver.Broken), new(driver.LimitError), refused("")} {
		gob.Register(part)
	}
}

// refused is the text of a *driver.Refused: the error in that is of a type that only the store knows.
type refused string

// fail packs err; nil stays nil. Where a context has ended only the text crosses: it was not the client's context, and whatever
// else the error is, it is no answer.
func fail(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Text: err.Error()}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return f
	}
	for i, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			f.Is |= 1 << i
		}
	}
	addPart[*driver.Held](f, err)
	addPart[*driver.Guarded](f, err)
	addPart[*driver.Broken](f, err)
	addPart[*driver.LimitError](f, err)
	if r, ok := errors.AsType[*driver.Refused](err); ok {
		f.Parts = append(f.Parts, refused(r.Err.Error()))
	}
	return f
}

func addPart[E error](f *failure, err error) {
	if part, ok := errors.AsType[E](err); ok {
		f.Parts = append(f.Parts, part)
	}
}

// error unpacks what fail packed.
func (f *failure) error() error {
	if f == nil {
		return nil
	}
	e := &serverError{text: f.Text}
	for i, sentinel := range sentinels {
		if f.Is&(1<<i) != 0 {
			e.is = append(e.is, sentinel)
		}
	}
	for _, part := range f.Parts {
		switch part := part.(type) {
		case refused:
			e.is = append(e.is, &driver.Refused{Err: errors.New(string(part))})
		case error:
			e.is = append(e.is, part)
		}
	}
	return e
}

// A serverError is an error that the served store returned.
type serverError struct {
	text string
	is   []error
}

func (e *serverError) Error() string   { return e.text }
func (e *serverError) Unwrap() []error { return e.is }
