package redisconn

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
)

// A Library is a function library of ours in the server. Do not copy it once it was used.
type Library struct {
	Name string // as in the first line of Code: "holdfast_1"
	Code string

	mu      sync.Mutex
	loading map[rueidis.Client]chan struct{} // closed when that client's loading has ended
}

// Call runs the function and returns its answer; nil is no error, see RedisMessage.IsNil. When the server does not have the function
// the library is loaded, and the call repeated. Errors are translated by [Error].
func (l *Library) Call(ctx context.Context, c rueidis.Client, function string, keys, args []string) (rueidis.RedisMessage, error) {
	m, err := c.Do(ctx, build(c, function, keys, args)).ToMessage()
	if err == nil {
		return m, nil
	}
	for range 10 { // somebody else's loading may fail, and somebody may flush what was just loaded
		if !notFound(err) {
			break
		}
		if err := l.loadOnce(ctx, c, keys); err != nil {
			return rueidis.RedisMessage{}, err
		}
		m, err = c.Do(ctx, build(c, function, keys, args)).ToMessage()
	}
	switch {
	case err == nil, rueidis.IsRedisNil(err):
		return m, nil
	case notFound(err):
		return rueidis.RedisMessage{}, l.missing(ctx, c, keys)
	}
	return rueidis.RedisMessage{}, Error(err)
}

// missing says why a function is still not there: only a library that is seen to be another's, or that may not be looked at, is a refusal.
func (l *Library) missing(ctx context.Context, c rueidis.Client, keys []string) error {
	code, found, err := l.stored(ctx, c, keys)
	switch {
	case isPermission(err), err == nil && found && code != l.Code:
		return l.replaced()
	case err != nil:
		return err
	}
	return &ServerError{Code: "ERR", Err: ErrTemporary, Message: "the server loses the function library " + l.Name +
		" as often as it is loaded; find out who runs FUNCTION FLUSH or DELETE"}
}

// Command is a call of the function, for what is to be sent together with other commands. If [Library.IsMissing] says so of its error, it
// is to be called by Call.
func (l *Library) Command(c rueidis.Client, function string, keys, args []string) rueidis.Completed {
	return build(c, function, keys, args)
}

// IsMissing reports whether a call has failed, and has done nothing, because the server does not have the library.
func (l *Library) IsMissing(err error) bool { return notFound(err) }

func build(c rueidis.Client, function string, keys, args []string) rueidis.Completed {
	return c.B().Fcall().Function(function).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
}

// where sends cmd to the node of a cluster that has the keys.
func where(cmd rueidis.Completed, keys []string) rueidis.Completed {
	if len(keys) > 0 {
		return cmd.SetSlot(keys[0])
	}
	return cmd
}

func notFound(err error) bool {
	return strings.HasPrefix(serverText(err), "Function not found")
}

// serverText is what the server replied; "" if err is something else. Some versions of rueidis leave the code ERR in it.
func serverText(err error) string {
	e, ok := rueidis.IsRedisErr(err)
	if !ok {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(e.Error(), "ERR "))
}

// loadOnce loads the library where keys live, or waits while somebody else does that: after a FUNCTION FLUSH everybody comes at once.
func (l *Library) loadOnce(ctx context.Context, c rueidis.Client, keys []string) error {
	l.mu.Lock()
	if others := l.loading[c]; others != nil {
		l.mu.Unlock()
		select {
		case <-others:
			return nil // if it failed the call that follows will tell
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	done := make(chan struct{})
	if l.loading == nil {
		l.loading = make(map[rueidis.Client]chan struct{})
	}
	l.loading[c] = done
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.loading, c)
		l.mu.Unlock()
		close(done)
	}()
	_, err := l.load(ctx, c, keys)
	return err
}

// load sends the library. there: one of its name was there before, whoever's that is.
func (l *Library) load(ctx context.Context, c rueidis.Client, keys []string) (there bool, err error) {
	err = c.Do(ctx, where(c.B().FunctionLoad().FunctionCode(l.Code).Build(), keys)).Error()
	if text := serverText(err); strings.HasSuffix(text, "already exists") {
		if strings.HasPrefix(text, "Library") {
			return true, nil
		}
		return false, l.replaced() // a function of ours in a library of somebody else's
	}
	return false, l.explain(Error(err))
}

// Load makes sure that the library is there, and that it is ours. A server that forbids to look or to load is no error: an administrator
// may have loaded it, and the first Call will tell.
func (l *Library) Load(ctx context.Context, c rueidis.Client) error {
	code, found, err := l.stored(ctx, c, nil)
	if err == nil && !found {
		var there bool
		if there, err = l.load(ctx, c, nil); there {
			code, found, err = l.stored(ctx, c, nil)
		}
	}
	switch {
	case isPermission(err):
		return nil
	case err == nil && found && code != l.Code:
		return l.replaced()
	}
	return err
}

// stored returns the code of the library of our name that the server has.
func (l *Library) stored(ctx context.Context, c rueidis.Client, keys []string) (code string, found bool, err error) {
	list, err := c.Do(ctx, where(c.B().FunctionList().Libraryname(l.Name).Withcode().Build(), keys)).ToArray()
	if err != nil {
		return "", false, Error(err)
	}
	for _, entry := range list {
		fields, err := entry.AsMap()
		if err != nil {
			return "", false, fmt.Errorf("FUNCTION LIST: %w", err)
		}
		name, code := fields["library_name"], fields["library_code"]
		if n, _ := name.ToString(); n == l.Name { // the argument is a pattern
			text, err := code.ToString()
			return text, err == nil, err
		}
	}
	return "", false, nil
}

func isPermission(err error) bool {
	e := kindOf(err)
	return e != nil && e.Err == ErrPermission
}

// explain says what an administrator has to do where we may not load.
func (l *Library) explain(err error) error {
	if !isPermission(err) {
		return err
	}
	return &driver.Refused{Err: &ServerError{Code: kindOf(err).Code, Err: ErrPermission, Message: "the server does not have the function library " +
		l.Name + " and this user may not load it; let an administrator load it (FUNCTION LOAD), or permit FUNCTION LOAD to this user"}}
}

func (l *Library) replaced() error {
	return &driver.Refused{Err: &ServerError{Code: "ERR", Err: ErrReplaced, Message: "the server has another function library in the place of " +
		l.Name + "; see FUNCTION LIST WITHCODE, then remove what is not ours with FUNCTION DELETE " + l.Name + " or the name found there"}}
}
