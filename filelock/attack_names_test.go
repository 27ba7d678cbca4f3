//go:build linux

package filelock_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// nasty are names that are something else to a file system, or nearly the same as another.
var nasty = []string{
	"../x", "../../x", "..", ".", "...", "/", "//", "/etc/passwd", "a/b", "a/../b", "a", "A", "a.", "a ", " a", "ab", "a%2fb", "a%", "%", "%x",
	"a\\b", "C:\\x", "C:x", "CON", "con", "NUL", "nul.txt", "aux", "LPT1", "l-a", "s-a", "L-a", "holdfast", "locks", "clients", "alive",
	"*", "?", "a*", "[a]", "~", "~root", "$HOME", "$(id)", "`id`", "-", "-rf", "--", "#", "a;b", "a|b", "a&b", "a\"b", "a'b", "{}",
	"é", "e\u0301", "É", "ß", "SS", "ss", "İ", "ı", "i", "I", "\u200b", "\u202e", "\ufeff", "日本", "🔒",
	strings.Repeat("x", 512), strings.Repeat("x", 511), strings.Repeat("X", 512), strings.Repeat("/", 512), strings.Repeat("日", 170),
	strings.Repeat("x", 511) + "y", strings.Repeat("a", 198), strings.Repeat("a", 199), strings.Repeat("a", 200), strings.Repeat("a", 201),
	strings.Repeat("a", 255), strings.Repeat("a", 256), "%x" + strings.Repeat("0", 62),
}

// TestNames: every name is a lock of its own, whatever it means to a file system, and its file is in the directory of locks.
func TestNames(t *testing.T) {
	around := t.TempDir()
	dir := filepath.Join(around, "a", "b", "store")
	must(t, os.MkdirAll(filepath.Dir(dir), 0o700))
	first, second := open(t, dir), open(t, dir)
	holds := make(map[string]*holdfast.Hold)
	for _, name := range nasty {
		hold, err := first.Mutex(name).TryLock(t.Context())
		if err != nil {
			t.Fatalf("%q must be a lock of its own: %v", name, err)
		}
		holds[name] = hold
	}
	for _, name := range nasty {
		if hold, err := second.Mutex(name).TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("%q is held, and another got %v, %v", name, hold, err)
		}
		info, err := second.Inspect(t.Context(), name)
		if err != nil || info.Name != name || len(info.Holders) != 1 || info.Holders[0].Token != holds[name].Token() {
			t.Errorf("%q shows %+v, %v; want the hold with token %d", name, info, err, holds[name].Token())
		}
	}
	listed := make(map[string]int)
	for info, err := range second.List(t.Context(), "") {
		must(t, err)
		listed[info.Name]++
	}
	for _, name := range nasty {
		if listed[name] != 1 {
			t.Errorf("%q is listed %d times", name, listed[name])
		}
	}
	if got := filesIn(t, filepath.Join(dir, "locks")); len(got) != len(nasty) || len(listed) != len(nasty) {
		t.Errorf("%d locks are %d files, and listed as %d: %q", len(nasty), len(got), len(listed), firstOf(got, 100))
	}
	checkPlaces(t, around)
	for _, name := range nasty {
		unlock(t, holds[name])
	}
	shut(t, first)
	shut(t, second)
	nothingLeft(t, dir)
	if got := filesIn(t, around); len(got) != 6 {
		t.Errorf("around the directory there are %q", got)
	}
}

// checkPlaces checks that nothing is outside of the store's directory, and that nobody else can look into what is inside.
func checkPlaces(t *testing.T, around string) {
	t.Helper()
	err := filepath.WalkDir(around, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(around, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		inside := strings.HasPrefix(name, filepath.Join("a", "b", "store"))
		switch {
		case inside && info.Mode().Perm()&0o077 != 0:
			t.Errorf("%s has mode %v: others can reach it", name, info.Mode())
		case !inside && !d.IsDir():
			t.Errorf("%s is outside of the directory", name)
		}
		return nil
	})
	must(t, err)
}

// TestNoNames: what is no name is refused before anything is touched.
func TestNoNames(t *testing.T) {
	dir := used(t)
	locks := open(t, dir)
	before := lookAt(t, dir)
	for _, name := range []string{"", "a\x00", "\x00", "a\nb", "a\rb", "\x1b[2J", "\x7f", "a\xff", "\xc0\xaf", strings.Repeat("x", 513)} {
		hold, err := locks.Mutex(name).TryLock(t.Context())
		if !errors.Is(err, holdfast.ErrName) {
			t.Errorf("%q: %v, %v; want ErrName", name, hold, err)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x00\x1b\n\r") {
			t.Errorf("%q: the error repeats a control character: %q", name, err)
		}
	}
	unchanged(t, dir, before)
}

// TestSecretsStaySecret: whoever knows an attempt's id could release the hold. It is in no file, in no form that could be used.
func TestSecretsStaySecret(t *testing.T) {
	dir := newDir(t)
	store, err := openStore(t.Context(), dir)
	must(t, err)
	defer store.Close()
	ids := driver.NewAttempts()
	holder := &driver.Request{Name: "lock", Attempt: ids.Next(), Label: "holder", Mode: driver.Exclusive, TTL: holdfast.MinTTL}
	_, err = store.Acquire(t.Context(), holder)
	must(t, err)
	queued := make(chan struct{}, 1)
	waiter := &driver.Request{
		Name: "lock", Attempt: ids.Next(), Label: "waiter", Mode: driver.Exclusive, TTL: holdfast.MinTTL,
		Waiting: func(driver.Progress) {
			select {
			case queued <- struct{}{}:
			default:
			}
		},
	}
	ended := make(chan error)
	go func() {
		_, err := store.Acquire(t.Context(), waiter)
		ended <- err
	}()
	<-queued
	for _, name := range filesIn(t, dir) {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		must(t, err)
		if !info.Mode().IsRegular() {
			continue
		}
		contents, err := os.ReadFile(path)
		must(t, err)
		for _, r := range []*driver.Request{holder, waiter} {
			secret := r.Attempt.Reveal()
			raw, _ := hex.DecodeString(secret)
			// The random part alone is as good as all of it: the rest is a counter.
			for _, part := range []string{secret[:32], string(raw[:16])} {
				if strings.Contains(name, part) || bytes.Contains(contents, []byte(part)) {
					t.Errorf("%s contains the id of the %s", name, r.Label)
				}
			}
		}
	}
	must(t, store.Release(t.Context(), holder))
	must(t, <-ended)
	must(t, store.Release(t.Context(), waiter))
}

// TestLabelsAreData: a label that looks like a piece of the file is a label.
func TestLabelsAreData(t *testing.T) {
	dir := newDir(t)
	store, err := openStore(t.Context(), dir)
	must(t, err)
	defer store.Close()
	other, err := openStore(t.Context(), dir)
	must(t, err)
	defer other.Close()
	ids := driver.NewAttempts()
	labels := []string{"", " ", "\n", "a\nb", "\n\n", "x\nholding 1 2 3\n", "\x00", "\"", "\\", "\\n", "%s%n", strings.Repeat("l", 300), "🔒 \t"}
	for _, label := range labels {
		r := &driver.Request{Name: "lock", Attempt: ids.Next(), Label: label, Mode: driver.Shared, TTL: holdfast.MinTTL}
		_, err := store.Acquire(t.Context(), r)
		must(t, err)
	}
	// From another client, which has nothing in memory.
	info, err := other.(driver.Inspector).Inspect(t.Context(), "lock", driver.Exclusive)
	must(t, err)
	if len(info.Holders) != len(labels) || len(info.Waiters) != 0 {
		t.Fatalf("%d readers hold, and there are %d holders and %d waiters to be seen", len(labels), len(info.Holders), len(info.Waiters))
	}
	for i, h := range info.Holders {
		if h.Label != labels[i] {
			t.Errorf("the label %q is shown as %q", labels[i], h.Label)
		}
	}
}
