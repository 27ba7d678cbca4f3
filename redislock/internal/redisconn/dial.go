package redisconn

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/redis/rueidis"
)

// Dial connects, and returns when the server has answered, has refused, or ctx has ended. Nothing is left behind when it fails. Its
// errors are translated by [Error].
func Dial(ctx context.Context, t Target) (rueidis.Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := newWires(t)
	o := t.ClientOption
	o.DialCtxFn = w.connect

	// rueidis.NewClient takes no context: the connection is taken away from it instead.
	stop := context.AfterFunc(ctx, w.close)
	inner, err := rueidis.NewClient(o)
	if ended := !stop(); ended || err != nil {
		w.close()
		if inner != nil {
			inner.Close()
		}
		if ended {
			return nil, w.late(ctx.Err())
		}
		return nil, dialError(w, o, err)
	}
	c := &client{Client: inner, wires: w}
	c.working.Store(w.broken.Load() + 1)
	return c, nil
}

// dialError adds what only the first words of a connection can show.
func dialError(w *wires, o rueidis.ClientOption, err error) error {
	if o.TLSConfig == nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		return &hint{"the server hung up at the first words; if it is a TLS port use rediss://, if it is no Redis look at host and port",
			[]error{ErrProtocol, err}}
	}
	return Error(w.inTime(err))
}

// inTime keeps a time-out of the connection apart from the end of somebody's context, which it would pass for.
func (w *wires) inTime(err error) error {
	if _, done := err.(*hint); done || !isTimeout(err) {
		return err
	}
	return w.late(os.ErrDeadlineExceeded)
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout() // context.DeadlineExceeded as well
}
