//go:build linux

package filelock_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clientDir finds the directory of the client that was opened last: the one that is not in before.
func clientDir(t testing.TB, dir string, before []string) string {
	t.Helper()
	for _, name := range clientsOf(t, dir) {
		if !slices.Contains(before, name) {
			return filepath.Join(dir, "clients", name)
		}
	}
	t.Fatal("a client was opened, and there is no directory of it")
	return ""
}

func clientsOf(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "clients"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestHolderWithoutFiles: somebody deletes what shows that a holder lives. It is not taken for dead: nobody else gets the lock, and
// whoever wants it is told. When the holder unlocks, the lock moves on.
func TestHolderWithoutFiles(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, client, victim string){
		"its directory deleted": func(t *testing.T, client, _ string) { must(t, os.RemoveAll(client)) },
		"its directory renamed": func(t *testing.T, client, _ string) { must(t, os.Rename(client, client+".away")) },
		"its directory a symlink": func(t *testing.T, client, victim string) {
			must(t, os.RemoveAll(client))
			must(t, os.Symlink(filepath.Dir(victim), client))
		},
		"alive deleted": func(t *testing.T, client, _ string) { must(t, os.Remove(filepath.Join(client, "alive"))) },
		"alive a file": func(t *testing.T, client, _ string) {
			must(t, os.Remove(filepath.Join(client, "alive")))
			write(t, filepath.Join(client, "alive"), "")
		},
		"alive another pipe": func(t *testing.T, client, _ string) {
			must(t, os.Remove(filepath.Join(client, "alive")))
			must(t, syscall.Mkfifo(filepath.Join(client, "alive"), 0o600))
		},
		"alive a symlink": func(t *testing.T, client, victim string) {
			must(t, os.Remove(filepath.Join(client, "alive")))
			must(t, os.Symlink(victim, filepath.Join(client, "alive")))
		},
		"alive a symlink to a dead pipe": func(t *testing.T, client, victim string) {
			must(t, syscall.Mkfifo(victim+".pipe", 0o600))
			must(t, os.Remove(filepath.Join(client, "alive")))
			must(t, os.Symlink(victim+".pipe", filepath.Join(client, "alive")))
		},
		"alive a hard link": func(t *testing.T, client, victim string) {
			must(t, os.Remove(filepath.Join(client, "alive")))
			must(t, os.Link(victim, filepath.Join(client, "alive")))
		},
		"alive a directory": func(t *testing.T, client, _ string) {
			must(t, os.Remove(filepath.Join(client, "alive")))
			must(t, os.Mkdir(filepath.Join(client, "alive"), 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			around := t.TempDir()
			dir, victim := filepath.Join(around, "store"), write(t, filepath.Join(around, "victim"), "precious")
			other := open(t, dir)
			before := clientsOf(t, dir)
			locks := open(t, dir)
			client := clientDir(t, dir, before)
			hold := take(t, locks, "lock")
			harm(t, client, victim)
			denied(t, other, "lock")
			newcomer := open(t, dir)
			denied(t, newcomer, "lock")
			if err := hold.Unlock(); err != nil {
				t.Logf("what the holder sees: %v", err)
			}
			unlock(t, gets(t, other, "lock"))
			t.Logf("what Close says: %v", locks.Close())
			isPrecious(t, victim)
		})
	}
}

// TestWaiterWithoutFiles: the files of a client that waits are replaced. Nothing is written through them, nobody is given the lock
// beside another, and nobody is stuck for good.
func TestWaiterWithoutFiles(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, file, victim string){
		"deleted":   func(t *testing.T, file, _ string) { must(t, os.Remove(file)) },
		"a symlink": func(t *testing.T, file, victim string) { must(t, os.Remove(file)); must(t, os.Symlink(victim, file)) },
		"a symlink to nothing": func(t *testing.T, file, victim string) {
			must(t, os.Remove(file))
			must(t, os.Symlink(victim+".new", file))
		},
		"a hard link": func(t *testing.T, file, victim string) { must(t, os.Remove(file)); must(t, os.Link(victim, file)) },
		"a pipe that nobody writes to": func(t *testing.T, file, _ string) {
			must(t, os.Remove(file))
			must(t, syscall.Mkfifo(file, 0o600))
		},
		"a directory": func(t *testing.T, file, _ string) { must(t, os.Remove(file)); must(t, os.Mkdir(file, 0o700)) },
	} {
		for _, which := range []string{"bell", "claims"} {
			t.Run(which+" "+name, func(t *testing.T) {
				t.Parallel()
				around := t.TempDir()
				dir, victim := filepath.Join(around, "store"), write(t, filepath.Join(around, "victim"), "precious")
				holder := here(t, dir)
				first := holder.holds("h", "lock")
				before := clientsOf(t, dir)
				waiter := there(t, dir)
				file := filepath.Join(clientDir(t, dir, before), which)
				waiter.queues("w", "lock")
				behind := there(t, dir)
				behind.queues("w", "lock")
				harm(t, file, victim)
				newcomer := here(t, dir) // makes a file anew, so it looks at everybody's claims
				newcomer.locks("new", "another", trying)
				newcomer.answers("new")
				freed := holder.unlocks("h")
				holder.tell(order{Do: "close"}) // the end of the client before it wakes a waiter that cannot hear its bell
				t.Logf("what Close says: %s", holder.hears("closed", "").Error)
				drain(t, []*party{waiter, behind}, freed, first.Token)
				isPrecious(t, victim)
				if _, err := os.Lstat(victim + ".new"); !os.IsNotExist(err) {
					t.Errorf("a symlink to nothing was followed, and the file made: %v", err)
				}
			})
		}
	}
}

// TestDeadClientsAreData: the directory of a client that died is swept by the next Open, but only what is ours in it, and no link is
// followed.
func TestDeadClientsAreData(t *testing.T) {
	around := t.TempDir()
	dir, victim := filepath.Join(around, "store"), filepath.Join(around, "victim")
	must(t, os.Mkdir(victim, 0o700))
	write(t, filepath.Join(victim, "file"), "precious")
	died := there(t, dir)
	client := clientDir(t, dir, nil)
	died.holds("h", "lock")
	died.kill()
	must(t, os.Symlink(victim, filepath.Join(client, "link")))
	write(t, filepath.Join(client, "thesis.txt"), "precious")
	seen, thesis := lookAt(t, victim), lookAt(t, filepath.Join(client, "thesis.txt"))
	locks := open(t, dir)
	unlock(t, take(t, locks, "lock"))
	shut(t, locks)
	unchanged(t, victim, seen)
	unchanged(t, filepath.Join(client, "thesis.txt"), thesis)
	if got := strings.Join(filesIn(t, filepath.Join(dir, "locks")), " "); got != "" {
		t.Errorf("nobody uses the store any more, and there are lock files: %s", got)
	}
}

// answers waits until it is decided whether id has the lock or not, whatever that is.
func (p *party) answers(id string) {
	p.t.Helper()
	for late := time.After(patience); ; {
		select {
		case w := <-p.words:
			if w.ID == id && (w.Said == "granted" || w.Said == "failed") {
				p.t.Logf("what a user sees: %s %s", w.Said, w.Error)
				return
			}
			p.heard = append(p.heard, w)
		case <-late:
			p.t.Fatalf("%q hangs", id)
		}
	}
}

// isPrecious checks that nothing was written to a victim. Its links may be fewer: the name in the client's own directory is the client's.
func isPrecious(t testing.TB, victim string) {
	t.Helper()
	if contents, err := os.ReadFile(victim); err != nil || string(contents) != "precious" {
		t.Errorf("the victim contains %q, %v", contents, err)
	}
}
