package redisconn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
)

const (
	oldPrimary = "127.0.0.1:1001"
	newPrimary = "127.0.0.1:1002"
)

// TestStaleIsOutvoted: whoever answers first, of two answers one knows the last failover.
func TestStaleIsOutvoted(t *testing.T) {
	_, hosts := fakes(t, place{oldPrimary, 1}, place{newPrimary, 2}, place{newPrimary, 2})
	for range 20 {
		at, _, err := find(t, "redis+sentinel://"+hosts+"/m", place{})
		if err != nil || at != (place{newPrimary, 2}) {
			t.Fatalf("%v, %v", at, err)
		}
	}
}

// TestMinority: one of three can be asked. It is believed, unless it is behind what is known.
func TestMinority(t *testing.T) {
	all, hosts := fakes(t, place{oldPrimary, 1}, place{newPrimary, 2}, place{newPrimary, 2})
	all[1].change(func() { all[1].declines = "LOADING" })
	all[2].change(func() { all[2].silent = true })
	url := "redis+sentinel://" + hosts + "/m?timeout=200ms"
	at, took, err := find(t, url, place{})
	if err != nil || at != (place{oldPrimary, 1}) || took < 100*time.Millisecond {
		t.Errorf("nothing known: %v, %v after %v", at, err, took)
	}
	if _, _, err = find(t, url, place{newPrimary, 2}); !errors.Is(err, ErrTemporary) || driver.Answered(err) || !strings.Contains(err.Error(), "1 of 3") {
		t.Errorf("back: %v", err)
	}
	if at, _, err = find(t, url, place{newPrimary, 1}); err != nil || at.told != oldPrimary {
		t.Errorf("the same epoch: %v, %v", at, err)
	}
}

// TestMajorityGoesBack: Sentinels that were set up anew begin to count anew.
func TestMajorityGoesBack(t *testing.T) {
	_, hosts := fakes(t, place{newPrimary, 0}, place{newPrimary, 0})
	if at, _, err := find(t, "redis+sentinel://"+hosts+"/m", place{oldPrimary, 7}); err != nil || at != (place{newPrimary, 0}) {
		t.Errorf("%v, %v", at, err)
	}
}

// TestMajorityIsEnough: nobody waits for the one that hangs.
func TestMajorityIsEnough(t *testing.T) {
	all, hosts := fakes(t, place{newPrimary, 2}, place{newPrimary, 2}, place{newPrimary, 2})
	all[0].change(func() { all[0].silent = true })
	nothingLeft(t, func() {
		if at, _, err := find(t, "redis+sentinel://"+hosts+"/m?timeout=10m", place{}); err != nil || at.told != newPrimary {
			t.Errorf("%v, %v", at, err)
		}
	})
}

// TestHalfDone: the Sentinel that leads a failover has the new epoch beside the old address.
func TestHalfDone(t *testing.T) {
	all, hosts := fakes(t, place{newPrimary, 2})
	all[0].change(func() { all[0].master = oldPrimary })
	if at, _, err := find(t, "redis+sentinel://"+hosts+"/m", place{}); err != nil || at.told != newPrimary {
		t.Errorf("%v, %v", at, err)
	}
}

// TestKnownAmongEquals: two names of one server do not take turns.
func TestKnownAmongEquals(t *testing.T) {
	for _, known := range []string{"127.0.0.1:1001", "localhost:1001"} {
		_, hosts := fakes(t, place{"localhost:1001", 3}, place{"127.0.0.1:1001", 3})
		for range 10 {
			at, _, err := find(t, "redis+sentinel://"+hosts+"/m", place{known, 3})
			if err != nil || at.told != known {
				t.Fatalf("%v instead of %v, %v", at, known, err)
			}
		}
	}
}

func TestSentinelsDecline(t *testing.T) {
	for text, kind := range map[string]error{
		"ERR No such master with that name":                        ErrSentinel,
		"ERR unknown command 'SENTINEL', with args '" + canary:     ErrSentinel,
		"NOAUTH Authentication required.":                          ErrAuth,
		"WRONGPASS invalid username-password pair":                 ErrAuth,
		"NOPERM this user has no permissions to run 'sentinel…'":   ErrPermission,
		"DENIED Redis is running in protected mode because " + "…": ErrPermission,
	} {
		all, hosts := fakes(t, place{newPrimary, 2}, place{newPrimary, 2}, place{newPrimary, 2})
		url := "redis+sentinel://:" + canary + "@" + hosts + "/some-name?sentinel-password=" + canary + "&sentinel-user=" + canary
		all[0].change(func() { all[0].declines = text })
		if at, _, err := find(t, url, place{}); err != nil || at.told != newPrimary {
			t.Errorf("%s, of one: %v, %v", text, at, err)
		}
		all[1].change(func() { all[1].declines = text })
		all[2].change(func() { all[2].declines = "LOADING" })
		_, _, err := find(t, url, place{})
		isRefused(t, text+", of two", err, kind)
		if named := strings.Contains(err.Error(), `"some-name"`); named != (text == "ERR No such master with that name") {
			t.Errorf("%s: %v", text, err)
		}
		all[1].change(func() { all[1].declines = "LOADING" })
		if _, _, err = find(t, url, place{}); driver.Answered(err) || !strings.Contains(err.Error(), "3 Sentinels") {
			t.Errorf("%s, of one of three: %v", text, err)
		}
		noSecret(t, text, fmt.Errorf("%v %+v %#v", err, err, err))
	}
}

// Whoever is not let in is told the next step, which is not the same in each case.
func TestSentinelsAskForAPassword(t *testing.T) {
	for text, step := range map[string]string{
		"NOAUTH Authentication required.":                                  "name it in the URL",
		"WRONGPASS invalid username-password pair or user is disabled.":    "correct them in the URL",
		"ERR invalid password":                                             "correct them in the URL",
		"ERR Client sent AUTH, but no password is set":                     "leave sentinel-password out",
		"ERR AUTH <password> called without any password configured for …": "leave sentinel-password out",
	} {
		all, hosts := fakes(t, place{newPrimary, 2})
		all[0].change(func() { all[0].declines = text })
		_, _, err := find(t, "redis+sentinel://"+hosts+"/m?sentinel-password="+canary, place{})
		isRefused(t, text, err, ErrAuth)
		if !strings.Contains(err.Error(), step) || !strings.Contains(err.Error(), "are for the servers") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestNoSentinel: nobody's context ends, and so the error must not look like it.
func TestNoSentinel(t *testing.T) {
	all, hosts := fakes(t, place{newPrimary, 2}, place{newPrimary, 2})
	for _, f := range all {
		f.change(func() { f.silent = true })
	}
	_, _, err := find(t, "redis+sentinel://"+hosts+"/m?timeout=50ms", place{})
	if errors.Is(err, context.DeadlineExceeded) || driver.Answered(err) || err == nil || !strings.Contains(err.Error(), "2 Sentinels") {
		t.Errorf("silent: %v", err)
	}
	_, _, err = find(t, "redis+sentinel://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/m", place{})
	if driver.Answered(err) || err == nil || !strings.Contains(err.Error(), "3 Sentinels") || !strings.Contains(err.Error(), "nobody listens") {
		t.Errorf("not there: %v", err)
	}
	o := options(t, "redis+sentinel://"+hosts+"/m?timeout=10m")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	nothingLeft(t, func() { _, err = o.sentinels.find(ctx, &o, place{}) })
	if err != context.DeadlineExceeded {
		t.Errorf("the caller's context: %v", err)
	}
}

// TestOddAddress: a Sentinel tells what is no address. It is not believed, and not printed.
func TestOddAddress(t *testing.T) {
	for _, told := range []string{":6379", "h:0", "h:x", "h:", "a b:1", "h\x1b[31m:1", "a@b:1"} {
		all, hosts := fakes(t, place{told, 9}, place{newPrimary, 2}, place{newPrimary, 2})
		if at, _, err := find(t, "redis+sentinel://"+hosts+"/m", place{}); err != nil || at.told != newPrimary {
			t.Errorf("%q: %v, %v", told, at, err)
		}
		_, _, err := find(t, "redis+sentinel://"+all[0].address+"/m", place{})
		if driver.Answered(err) || !errors.Is(err, ErrProtocol) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q alone: %v", told, err)
		}
	}
}
