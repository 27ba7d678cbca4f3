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
	dir := newDir(t)
	text := URL(dir)
	for _, query := range []string{"", "?wait=poll", "?network=allow", "?network=allow&wait=poll"} {
		st, err := openText(t, text+query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if got := st.String(); got != text {
			t.Errorf("%s: String is %q", query, got)
		}
		if polls := st.(*Store).polls; polls != (strings.Contains(query, "poll") || !pipesWork) {
			t.Errorf("%s: polls is %v", query, polls)
		}
		st.Close()
	}
	for _, wrong := range []string{"?wait=push", "?wait=", "?network=yes", "?other=1", "?wait=poll&wait=poll"} {
		if _, err := openText(t, text+wrong); !errors.Is(err, driver.ErrURL) {
			t.Errorf("%s: %v; want ErrURL", wrong, err)
		}
	}
	for wrong, says := range map[string]string{
		"file://host/x":       "three slashes",
		"file://user:word@/x": "three slashes",
		"file://./locks":      "relative paths and ~ are not taken",
		"file://~/locks":      "relative paths and ~ are not taken",
		"file:///~/locks":     "relative paths and ~ are not taken",
		"file:///./locks":     "relative paths and ~ are not taken",
		"file:///../locks":    "relative paths and ~ are not taken",
		URL("~/locks"):        "relative paths and ~ are not taken",
		URL("~"):              "relative paths and ~ are not taken",
		"file://":             "names no directory",
		URL(""):               "names no directory",
		URL("a\x00b"):         "zero byte",
	} {
		if _, err := openText(t, wrong); !errors.Is(err, driver.ErrURL) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want ErrURL, and that it says %q", wrong, err, says)
		}
	}
}

// A path becomes a URL and a path again, whatever is in it, on every system.
func TestURLOfPath(t *testing.T) {
	for _, c := range []struct {
		path    string
		windows bool
		want    string
	}{
		{"/var/lib/locks", false, "file:///var/lib/locks"},
		{"/home/me@work/100% a?b#c:d", false, "file:///home/me%40work/100%25%20a%3Fb%23c:d"},
		{"/a:b/me@work", false, "file:///a:b/me%40work"},
		{"/tab\t/\xff/é/back\\slash", false, "file:///tab%09/%FF/%C3%A9/back%5Cslash"},
		{`C:\locks`, true, "file:///C:/locks"},
		{`C:\Users\me@work\my locks`, true, "file:///C:/Users/me%40work/my%20locks"},
		{`\\server\share\locks`, true, "file://///server/share/locks"},
	} {
		got := urlOf(c.path, c.windows)
		if got != c.want {
			t.Errorf("%q becomes %s, want %s", c.path, got, c.want)
		}
		u, err := driver.ParseURL(got)
		if err != nil {
			t.Errorf("%s: %v", got, err)
		} else if again := pathOf(u.Path, c.windows); again != c.path || len(u.Hosts) > 0 {
			t.Errorf("%s is read as %q of %q, want %q", got, again, u.Hosts, c.path)
		}
	}
}

// A relative path counts from the directory in which the process is.
func TestURLOfRelativePath(t *testing.T) {
	parent := t.TempDir()
	t.Chdir(parent)
	st, err := openText(t, URL(filepath.Join("new", "my locks")))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(here, "new", "my locks")
	if _, err := os.Stat(filepath.Join(parent, "new", "my locks", recordName)); err != nil || st.String() != URL(want) {
		t.Errorf("%s was opened, with %v; want %s", st, err, want)
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
