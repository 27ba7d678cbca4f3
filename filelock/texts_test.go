package filelock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/driver"
)

// What is refused says what it is, and what to do: never to change the mode of a directory that others share.
func TestRefusalsSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string)
		below   string // of dir, to be opened
		says    string
		not     string
		modes   bool // only where modes count
	}{
		"a file":                  {prepare: writeFile, says: "it is a file, not a directory"},
		"below a file":            {prepare: writeFile, below: "x/y", says: "store is a file, not a directory"},
		"a directory for all":     {prepare: madeWith(0o777|fs.ModeSticky, ""), says: filepath.Join("store", "NAME"), not: "chmod", modes: true},
		"a directory with a file": {prepare: madeWith(0o777, "else"), says: filepath.Join("store", "NAME"), not: "chmod", modes: true},
		"an empty directory":      {prepare: madeWith(0o777, ""), says: "chmod 700 it", not: "NAME", modes: true},
		"a store":                 {prepare: madeWith(0o777, recordName), says: "chmod 700 it", not: "NAME", modes: true},
		"a part of a store": {prepare: func(t *testing.T, dir string) {
			st := opened(t, dir)
			take(t, st, ask("x", driver.Exclusive))
			kill(st)
			chmod(t, filepath.Join(dir, locksName), 0o777)
		}, says: "chmod 700 it", not: "NAME", modes: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.modes && !modesCount {
				t.Skip("modes say nothing on this system")
			}
			dir := newDir(t)
			c.prepare(t, dir)
			st, err := Open(t.Context(), filepath.Join(dir, c.below))
			if err == nil {
				st.Close()
			}
			isRefused(t, err, c.says)
			if c.not != "" && strings.Contains(err.Error(), c.not) {
				t.Errorf("it says %q: %v", c.not, err)
			}
		})
	}
}

func writeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// madeWith makes a directory of that mode with a file in it, or none.
func madeWith(mode fs.FileMode, file string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if file != "" {
			writeFile(t, filepath.Join(dir, file))
		}
		chmod(t, dir, mode)
	}
}

// A hold whose directory was removed is gone, and the error says that once.
func TestReleaseInARemovedDirectory(t *testing.T) {
	dir := newDir(t)
	st := opened(t, dir)
	r := ask("x", driver.Exclusive)
	take(t, st, r)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	err := st.Release(t.Context(), r)
	if !errors.Is(err, driver.ErrGone) || !driver.Answered(err) {
		t.Fatalf("Release: %v; want ErrGone, as an answer", err)
	}
	if text := err.Error(); strings.Contains(text, driver.ErrGone.Error()) || !strings.Contains(text, "removed or replaced") {
		t.Errorf("Release says %q: whoever finds ErrGone in it says that there is no such hold, and this is to say why", text)
	}
}
