package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	_ "holdfast.dev/memlock"
)

// canary is a password that no error may ever show.
const canary = "c4n4ry"

// refused is the store that Open had opened before it failed.
var refused *script

func init() {
	driver.Register("script", func(ctx context.Context, u *driver.URL) (driver.Store, error) {
		if err := u.Check("speed"); err != nil {
			return nil, err
		}
		if _, err := u.Duration("speed", 0); err != nil {
			return nil, err
		}
		switch u.Path {
		case "/down":
			return nil, errCut
		case "/unsure":
			s := newScript()
			s.guarantees = func(context.Context, int) (holdfast.Guarantees, error) { return holdfast.Guarantees{}, errCut }
			refused = s
			return s, nil
		}
		return newScript(), nil
	})
}

// Rule (errors): no error ever contains a password, however malformed its URL is, and however the error is printed.
func TestNoErrorShowsThePassword(t *testing.T) {
	for _, url := range []string{
		"nowhere://user:" + canary + "@host",                   // unknown scheme
		"script://user:" + canary + "@host?bogus=1",            // unknown parameter
		"script://user:" + canary + "@host?speed=fast",         // malformed parameter
		"script://user:" + canary + "@host/down",               // the store cannot be reached
		"script://user:" + canary + "@host/unsure",             // it cannot be asked
		"script://user:" + canary + "@host:port",               // malformed port
		"script://user:" + canary + "@ho st",                   // space
		"script://user:" + canary + "/x@host",                  // not percent-encoded
		"script://user:" + canary + "?x@host",                  //
		"script://user:" + canary + "#x@host",                  //
		"script://user:" + canary + "%zz@host",                 // malformed encoding
		"script://user:" + canary + "@host@other",              //
		"script://host?password=" + canary + "&bogus",          //
		"script://host?" + canary + "=1&bogus",                 //
		"user:" + canary + "@host",                             // no scheme
		":" + canary,                                           //
		"script://" + canary + ":" + canary + "@[::1",          //
		"SCRIPT://user:" + canary + "@host",                    //
		"mem://user:" + canary + "@host",                       // memory has no users
		"script://user:" + canary + "@host?speed=1&speed=2",    //
		"script://user:" + canary + "@host?speed=" + "5%zz",    //
		"script://user:" + canary + "@" + canary + ",,x:99999", //
	} {
		locks, err := holdfast.Open(t.Context(), url, holdfast.Require(holdfast.Correctness))
		if err == nil {
			locks.Close()
			t.Errorf("%s was opened", url)
			continue
		}
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
			if strings.Contains(text, canary) {
				t.Errorf("%s: the error shows the password: %s", url, text)
			}
		}
	}
}

// Rule (bad input): a URL that cannot be used is ErrURL, and says what to write instead.
func TestOpenExplainsItsURL(t *testing.T) {
	for _, c := range []struct {
		url   string
		words []string
	}{
		{"", []string{"://"}},
		{"localhost:6379", []string{"file:///", "lower case"}},
		{"nowhere://host", []string{"nowhere", "imported here are", "mem", "script"}},
		{"script://host?sped=1s", []string{`"sped"`, "known are: speed"}},
		{"script://host?speed=fast", []string{`"speed"`, "500ms"}},
		{"mem://?x=1", []string{`"x"`, "no parameters"}},
		{"mem://a/b", []string{"mem://NAME"}},
		{"script://host:0", []string{"1 to 65535"}},
	} {
		_, err := holdfast.Open(t.Context(), c.url)
		expect(t, err, holdfast.ErrURL, c.words...)
		var why *driver.URLError
		if !errors.As(err, &why) {
			t.Errorf("%q: got %T, want a *driver.URLError", c.url, err)
		}
	}
}

// Rule (bad input): a scheme of ours whose driver is not imported says which import is missing.
func TestOpenNamesTheMissingImport(t *testing.T) {
	expect(t, holdfast.UnknownScheme("mem"), holdfast.ErrURL, `import _ "holdfast.dev/memlock"`)
}

// Rule: Open fails if the store cannot be reached, cannot be asked, or lacks what is required of it; and says which.
func TestOpenFails(t *testing.T) {
	_, err := holdfast.Open(t.Context(), "script://host/down")
	expect(t, err, errCut, "script://host/down")
	var broken *holdfast.StoreError
	if !errors.As(err, &broken) || broken.Op != "open" {
		t.Errorf("got %#v, want a *StoreError of open", err)
	}

	_, err = holdfast.Open(t.Context(), "script://host/unsure")
	expect(t, err, errCut)
	if !errors.As(err, &broken) || broken.Op != "guarantees" {
		t.Errorf("got %#v, want a *StoreError of guarantees", err)
	}
	if len(refused.asked("close")) != 1 {
		t.Error("the store was left open")
	}

	_, err = holdfast.Open(t.Context(), "mem://", holdfast.Require(holdfast.Correctness))
	expect(t, err, holdfast.ErrUnsupported, "Require(Correctness)", "volatile", "drop the requirement")

	_, err = holdfast.Open(t.Context(), "mem://", nil)
	expect(t, err, holdfast.ErrArgument, "option is nil")

	_, err = holdfast.Open(noContext, "mem://")
	expect(t, err, holdfast.ErrArgument, "context is nil")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = holdfast.Open(ended, "mem://")
	expect(t, err, context.Canceled)
}

// Rule: two clients of mem:// are apart, two of mem://NAME share their locks.
func TestOpenMem(t *testing.T) {
	for url, shared := range map[string]bool{"mem://": false, "mem://TestOpenMem": true} {
		one, err := holdfast.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		two, err := holdfast.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer two.Close()
		hold := mustLock(t, one.Mutex("a"))
		other, err := two.Mutex("a").TryLock(t.Context())
		if got := errors.Is(err, holdfast.ErrHeld); got != shared {
			t.Errorf("%s: TryLock of the second client: %v, want held: %v", url, err, shared)
		}
		if other != nil {
			mustUnlock(t, other)
		}
		mustUnlock(t, hold)
	}
}

// Rule: New never fails; a client of no store says ErrArgument, whatever is asked of it.
func TestNewWithoutAStore(t *testing.T) {
	locks := holdfast.New(nil, holdfast.TTL(time.Second))
	_, err := locks.Mutex("a").Lock(t.Context())
	expect(t, err, holdfast.ErrArgument, "store is nil")
	_, err = locks.Guarantees(t.Context())
	expect(t, err, holdfast.ErrArgument, "store is nil")
	_, err = locks.Inspect(t.Context(), "a")
	expect(t, err, holdfast.ErrArgument, "store is nil")
	expect(t, locks.Break(t.Context(), "a", 1), holdfast.ErrArgument, "store is nil")
	for _, err := range locks.List(t.Context(), "") {
		expect(t, err, holdfast.ErrArgument, "store is nil")
	}
	if err := locks.Close(); err != nil {
		t.Error(err)
	}
}
