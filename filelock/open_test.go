package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/driver"
)

func openText(t *testing.T, text string) (driver.Store, error) {
	t.Helper()
	u, err := driver.ParseURL(text)
	if err != nil {
		t.Fatal(err)
	}
	open, ok := driver.Lookup(u.Scheme)
	if !ok {
		t.Fatalf("%s is not registered", u.Scheme)
	}
	return open(t.Context(), u)
}

func TestURLs(t *testing.T) {
	dir := filepath.ToSlash(newDir(t))
	for _, query := range []string{"", "?wait=poll", "?network=allow", "?network=allow&wait=poll"} {
		st, err := openText(t, "file://"+dir+query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if got := st.String(); got != "file://"+dir {
			t.Errorf("%s: String is %q", query, got)
		}
		if polls := st.(*Store).polls; polls != (strings.Contains(query, "poll") || !pipesWork) {
			t.Errorf("%s: polls is %v", query, polls)
		}
		st.Close()
	}
	for _, wrong := range []string{"?wait=push", "?wait=", "?network=yes", "?other=1", "?wait=poll&wait=poll"} {
		if _, err := openText(t, "file://"+dir+wrong); !errors.Is(err, driver.ErrURL) {
			t.Errorf("%s: %v; want ErrURL", wrong, err)
		}
	}
	for _, wrong := range []string{"file://host/x", "file://user:word@/x", "file://"} {
		if _, err := openText(t, wrong); !errors.Is(err, driver.ErrURL) {
			t.Errorf("%s: %v; want ErrURL", wrong, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	_, err := Open(t.Context(), "relative")
	isRefused(t, err, "not an absolute path")
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(dead, newDir(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with a context that has ended: %v", err)
	}

	newer := newDir(t)
	opened(t, newer).Close()
	record := filepath.Join(newer, recordName)
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, headerSpace} {
		copy(text[at:], "holdfast dir  2\n")
	}
	if err := os.WriteFile(record, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), newer)
	isRefused(t, err, "another version of holdfast")
}

func TestNetworkFileSystems(t *testing.T) {
	for _, c := range []struct {
		volume  volume
		allowed bool
		refused bool
	}{{volume{}, false, false}, {volume{memory: true}, false, false}, {volume{network: "NFS"}, true, false}, {volume{network: "NFS"}, false, true}} {
		if err := c.volume.check(c.allowed); (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "NFS") {
			t.Errorf("%+v, allowed %v: %v", c.volume, c.allowed, err)
		}
	}
	g, err := opened(t, newDir(t), config{network: true}).Guarantees(t.Context())
	if err != nil || g.Fencing != driver.FencingVolatile || g.SurvivesRestart || g.SurvivesFailover {
		t.Errorf("on a network file system: %+v, %v", g, err)
	}
}

// The identity is the directory's own, whatever path leads there.
func TestIdentity(t *testing.T) {
	dir := newDir(t)
	first, err := opened(t, dir).Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	moved := dir + "-moved"
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if again, err := opened(t, moved).Identity(t.Context()); err != nil || again != first {
		t.Errorf("%q after a move, %q before, %v", again, first, err)
	}
	if other, err := opened(t, dir).Identity(t.Context()); err != nil || other == first {
		t.Errorf("another directory has the same identity, or none: %q, %v", other, err)
	}
}

// The directory is moved away while it is in use: whoever asks is told, and Release says that nothing is held any more.
func TestDirectoryMoved(t *testing.T) {
	dir := newDir(t)
	st := opened(t, dir)
	r := ask("x", driver.Exclusive)
	take(t, st, r)
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	_, err := st.Acquire(t.Context(), ask("y", driver.Exclusive))
	isRefused(t, err, "removed or replaced")
	if err := st.Release(t.Context(), r); !errors.Is(err, driver.ErrGone) || !driver.Answered(err) {
		t.Errorf("Release: %v; want ErrGone", err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir+"-moved", locksName)); err != nil || len(entries) != 1 {
		t.Errorf("in the directory that was moved are %v, %v; want the one that was held", entries, err)
	}
}
