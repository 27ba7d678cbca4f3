package remote_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/remote"
	"holdfast.dev/memlock"
)

func openURL(t *testing.T, text string) (driver.Store, error) {
	t.Helper()
	u, err := driver.ParseURL(text)
	if err != nil {
		t.Fatal(err)
	}
	store, err := remote.Open(t.Context(), u)
	if err == nil {
		t.Cleanup(func() { store.Close() })
	} else if store != nil {
		t.Errorf("%s: a store besides the error %v", u, err)
	}
	return store, err
}

const canary = "canary-in-the-url"

// A password is accepted, and nowhere to be found afterwards.
func TestOpenForgetsThePassword(t *testing.T) {
	addr, stop := serve(t, memlock.New())
	s, err := openURL(t, remote.Scheme+"://me:"+canary+"@"+addr)
	if err != nil {
		t.Fatal(err)
	}
	r := exclusive(long)
	mustAcquire(t, s, r)
	mustRelease(t, s, r)
	if got, want := s.String(), remote.Scheme+"://"+addr; got != want {
		t.Errorf("String is %q; want %q", got, want)
	}
	id, err := s.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stop()
	_, dead := s.Guarantees(t.Context())
	_, refused := openURL(t, remote.Scheme+"://me:"+canary+"@"+addr)
	if dead == nil || refused == nil || driver.Answered(dead) || driver.Answered(refused) {
		t.Errorf("the server is gone, and the errors are %v and %v; want outcomes that are unknown", dead, refused)
	}
	for _, shown := range []string{id, fmt.Sprintf("%v %+v %#v", s, s, s), fmt.Sprint(dead), fmt.Sprint(refused)} {
		if strings.Contains(shown, canary) {
			t.Errorf("it shows the password: %s", shown)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, rest := range []string{"", "host", "[::1]", "a:1,b:2", "a:1/path", "a:1/", "a:1?ttl=1s", "me:" + canary + "@", "me:" + canary + "@host"} {
		_, err := openURL(t, remote.Scheme+"://"+rest)
		if !errors.Is(err, driver.ErrURL) || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), remote.Scheme+"://") {
			t.Errorf("%s: %v; want ErrURL that says what to write, and no password", rest, err)
		}
	}
}

// registersItself is found out before any test or example registers it.
var _, registersItself = driver.Lookup(remote.Scheme)

// Importing the package is not enough: a program does not open test stores.
func TestOpenIsNotRegistered(t *testing.T) {
	if registersItself {
		t.Error("the package has registered itself")
	}
}
