package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// twoServers makes two stores, the one whose locks a Multi takes first first.
func twoServers(t *testing.T) (first, last *memlock.Server) {
	t.Helper()
	identity := func(s *memlock.Server) string {
		id, err := s.Connect().Identity(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first, last = memlock.NewServer(), memlock.NewServer()
	if identity(first) > identity(last) {
		first, last = last, first
	}
	return first, last
}

// Rule (Multi, Close): closing the client of one part ends the whole: its contexts end with ErrClosed, and the other parts stay until
// Unlock.
func TestMultiOneClientIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := memlock.NewServer(), memlock.NewServer()
		one, two := connect(t, here), connect(t, there)
		hold := mustLock(t, holdfast.Multi(one.Mutex("a"), two.Mutex("b")))
		ctx := hold.Context(t.Context())
		if err := two.Close(); err != nil {
			t.Fatal(err)
		}
		expect(t, context.Cause(ctx), holdfast.ErrClosed)
		expect(t, hold.Err(), holdfast.ErrClosed)
		if hold.Left() != 0 {
			t.Errorf("%v left", hold.Left())
		}
		free(t, there)
		_, err := connect(t, here).Mutex("a").TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld)
		expect(t, hold.Unlock(), holdfast.ErrClosed)
		free(t, here)
	})
}

// Rule (Multi, Close): a wait ends with the client that it waits for, and with that of a part that it holds already.
func TestMultiOneClientIsClosedWhileItWaits(t *testing.T) {
	for _, which := range []string{"it waits for", "it holds"} {
		t.Run(which, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := twoServers(t)
				one, two := connect(t, here), connect(t, there)
				blocker := mustLock(t, connect(t, there).Mutex("a"))
				failed := make(chan error, 1)
				go func() {
					_, err := holdfast.Multi(two.Mutex("a"), one.Mutex("a")).Lock(t.Context())
					failed <- err
				}()
				synctest.Wait()
				if err := map[string]*holdfast.Client{"it waits for": two, "it holds": one}[which].Close(); err != nil {
					t.Error(err)
				}
				err := <-failed
				expect(t, err, holdfast.ErrClosed)
				if errors.Is(err, holdfast.ErrHeld) || errors.Is(err, holdfast.ErrLost) {
					t.Errorf("confused with something else: %v", err)
				}
				synctest.Wait()
				mustUnlock(t, blocker)
				free(t, here)
				free(t, there)
			})
		})
	}
}

// Rule (Multi, Close): inside Do a part is not taken away from under its function; Close waits for it, and the whole is released after.
func TestMultiInDoAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := memlock.NewServer(), memlock.NewServer()
		one, two := connect(t, here), connect(t, there)
		done := make(chan error, 1)
		go func() {
			done <- holdfast.Do(t.Context(), holdfast.Multi(one.Mutex("a"), two.Mutex("b")), func(ctx context.Context) error {
				<-ctx.Done()
				cause := context.Cause(ctx)
				time.Sleep(time.Second)
				for name, server := range map[string]*memlock.Server{"a": here, "b": there} {
					if _, err := connect(t, server).Mutex(name).TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
						t.Errorf("%q was taken away from under the function: %v", name, err)
					}
				}
				return cause
			})
		}()
		synctest.Wait()
		begun := time.Now()
		if err := one.Close(); err != nil {
			t.Error(err)
		}
		took(t, "Close", begun, time.Second)
		expect(t, <-done, holdfast.ErrClosed)
		free(t, here)
		free(t, there)
	})
}
