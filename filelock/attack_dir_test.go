//go:build linux

package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"holdfast.dev"
)

// TestOpenRefuses: what is not clearly a directory of ours is refused, and nothing in it or behind it is touched.
func TestOpenRefuses(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, dir string){
		"a symlink to an empty directory": func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir+".target", 0o700))
			must(t, os.Symlink(dir+".target", dir))
		},
		"a symlink to a store": func(t *testing.T, dir string) {
			must(t, os.Rename(used(t), dir+".target"))
			must(t, os.Symlink(dir+".target", dir))
		},
		"a symlink to nothing": func(t *testing.T, dir string) { must(t, os.Symlink(dir+".target", dir)) },
		"a file":               func(t *testing.T, dir string) { write(t, dir, "precious") },
		"a named pipe":         func(t *testing.T, dir string) { must(t, syscall.Mkfifo(dir, 0o600)) },
		"a path through a file": func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Dir(dir)))
			write(t, filepath.Dir(dir), "precious")
		},
		"somebody's files": func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700))
			write(t, filepath.Join(dir, "thesis.txt"), "precious")
		},
		"somebody's hidden file": func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700))
			write(t, filepath.Join(dir, ".profile"), "precious")
		},
		"somebody's directories, named as ours are": func(t *testing.T, dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, "locks"), 0o700))
			must(t, os.MkdirAll(filepath.Join(dir, "clients", "me"), 0o700))
			write(t, filepath.Join(dir, "locks", "l-lock"), "precious")
		},
		"everybody may write": func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.Chmod(dir, 0o777))
		},
		"the group may write": func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.Chmod(dir, 0o770))
		},
		"everybody may write, sticky": func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.Chmod(dir, 0o777|os.ModeSticky))
		},
		"a store that everybody may write to now": func(t *testing.T, dir string) {
			must(t, os.Rename(used(t), dir))
			must(t, os.Chmod(dir, 0o777))
		},
	} {
		t.Run(name, func(t *testing.T) {
			around := filepath.Join(t.TempDir(), "around")
			must(t, os.Mkdir(around, 0o700))
			prepare(t, filepath.Join(around, "store"))
			before := lookAt(t, around)
			refused(t, filepath.Join(around, "store"))
			unchanged(t, around, before)
		})
	}
}

// TestOpenRefusesURLs: a path that is relative, or hides something, is a mistake in the URL.
func TestOpenRefusesURLs(t *testing.T) {
	around := t.TempDir()
	t.Chdir(around)
	dir := strings.TrimPrefix(storeURL(filepath.Join(around, "store")), "file://")
	for _, url := range []string{
		"file://", "file://store", "file://store" + dir, "file://localhost:80" + dir, "file://me:secret@host" + dir,
		"file://" + dir + "%00/x", "file://" + dir + "?wiat=poll", "file://" + dir + "?wait=often", "file://" + dir + "?network=perhaps",
	} {
		locks, err := holdfast.Open(t.Context(), url)
		if err == nil {
			locks.Close()
			t.Errorf("%s: accepted", url)
			continue
		}
		t.Logf("%s: what a user sees: %q", url, err)
		if !errors.Is(err, holdfast.ErrURL) {
			t.Errorf("%s: %q is not ErrURL", url, err)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the password: %v", url, err)
		}
	}
	if files := filesIn(t, around); len(files) > 0 {
		t.Errorf("refused URLs made %q", files)
	}
}

// TestRecordAttacked: the record that makes a directory ours is not followed, not overwritten, and not believed if it is damaged:
// tokens could fall.
func TestRecordAttacked(t *testing.T) {
	for name, attack := range map[string]func(t *testing.T, record, victim string){
		"a symlink to a victim":      func(t *testing.T, record, victim string) { must(t, os.Symlink(victim, record)) },
		"a symlink to nothing":       func(t *testing.T, record, victim string) { must(t, os.Symlink(victim+".new", record)) },
		"a symlink to a true record": func(t *testing.T, record, _ string) { must(t, os.Symlink(record+".old", record)) },
		"a hard link to a victim":    func(t *testing.T, record, victim string) { must(t, os.Link(victim, record)) },
		"a hard link to a true one":  func(t *testing.T, record, _ string) { must(t, os.Link(record+".old", record)) },
		"a named pipe":               func(t *testing.T, record, _ string) { must(t, syscall.Mkfifo(record, 0o600)) },
		"a directory":                func(t *testing.T, record, _ string) { must(t, os.Mkdir(record, 0o700)) },
		"junk":                       func(t *testing.T, record, _ string) { write(t, record, strings.Repeat("junk\n", 300)) },
		"nothing in it":              func(t *testing.T, record, _ string) { write(t, record, "") },
		"everybody may write": func(t *testing.T, record, _ string) {
			old, err := os.ReadFile(record + ".old")
			must(t, err)
			write(t, record, string(old))
			must(t, os.Chmod(record, 0o666))
		},
	} {
		t.Run(name, func(t *testing.T) {
			around := t.TempDir()
			dir, victim := filepath.Join(around, "store"), write(t, filepath.Join(around, "victim"), "precious")
			must(t, os.Rename(used(t), dir))
			record := filepath.Join(dir, "holdfast")
			must(t, os.Rename(record, record+".old"))
			attack(t, record, victim)
			before := lookAt(t, around)
			refused(t, dir)
			unchanged(t, around, before)
		})
	}
}

// TestRecordDamaged: whichever part of the record is damaged or cut off, it is refused, or tokens go on above all that were given.
func TestRecordDamaged(t *testing.T) {
	dir := used(t)
	path := filepath.Join(dir, "holdfast")
	good, err := os.ReadFile(path)
	must(t, err)
	locks := open(t, dir)
	top := take(t, locks, "top").Token() // what it says now is newer than good
	shut(t, locks)
	whole, err := os.ReadFile(path)
	must(t, err)
	try := func(what string, at int, contents []byte) {
		t.Helper()
		must(t, os.WriteFile(path, contents, 0o600))
		locks, err := holdfast.Open(t.Context(), storeURL(dir))
		if err != nil {
			return
		}
		defer locks.Close()
		if hold, err := locks.Mutex("lock").TryLock(t.Context()); err == nil && hold.Token() <= top {
			t.Errorf("%s %d: token %d was granted after token %d", what, at, hold.Token(), top)
		}
	}
	for i, c := range whole {
		if c != 0 || good[min(i, len(good)-1)] != 0 {
			damaged := slices.Clone(whole)
			damaged[i] ^= 0x10
			try("changed at", i, damaged)
		}
	}
	for n := 0; n < len(whole); n += 61 {
		try("cut at", n, whole[:n])
	}
	try("whole, to", len(whole), whole)
}

// TestDirectoriesAttacked: locks and clients are directories of ours inside the directory, and nothing else.
func TestDirectoriesAttacked(t *testing.T) {
	for _, which := range []string{"locks", "clients"} {
		for name, attack := range map[string]func(t *testing.T, path, outside string){
			"a symlink to a directory": func(t *testing.T, path, outside string) { must(t, os.Symlink(outside, path)) },
			"a symlink to nothing":     func(t *testing.T, path, outside string) { must(t, os.Symlink(outside+".new", path)) },
			"a symlink to itself":      func(t *testing.T, path, _ string) { must(t, os.Symlink(path, path)) },
			"a file":                   func(t *testing.T, path, _ string) { write(t, path, "precious") },
			"a named pipe":             func(t *testing.T, path, _ string) { must(t, syscall.Mkfifo(path, 0o600)) },
			"everybody may write": func(t *testing.T, path, _ string) {
				must(t, os.Mkdir(path, 0o700))
				must(t, os.Chmod(path, 0o777))
			},
		} {
			t.Run(which+", "+name, func(t *testing.T) {
				around := t.TempDir()
				dir, outside := filepath.Join(around, "store"), filepath.Join(around, "outside")
				must(t, os.Mkdir(outside, 0o700))
				must(t, os.Rename(used(t), dir))
				must(t, os.Remove(filepath.Join(dir, which)))
				attack(t, filepath.Join(dir, which), outside)
				before := lookAt(t, around)
				refused(t, dir)
				unchanged(t, around, before)
			})
		}
	}
}
