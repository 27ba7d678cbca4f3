//go:build linux

package filelock_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nobody is the user of that name, on every Linux: one who owns nothing here.
const nobody = 65534

// openTo lets other users reach a test's directory.
func openTo(t *testing.T, dir string) {
	t.Helper()
	for d := dir; d != os.TempDir() && len(d) > len(os.TempDir()); d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
}

// asNobody tries to open a store as another user, and returns what that user is told.
func asNobody(t *testing.T, dir string) string {
	t.Helper()
	p := spawn(t, task{Do: "obey", Dir: dir, UID: nobody})
	text := p.hears("failed", "").Error
	t.Logf("what the other user sees: %s", text)
	return text
}

// TestTwoUsers: a store belongs to one user. Nobody else can use it, not even root, who would leave files that its owner cannot read;
// and nothing is changed by the attempt.
func TestTwoUsers(t *testing.T) {
	if os.Geteuid() != 0 { // then the directories of root are another user's
		for _, dir := range []string{"/", "/usr", "/usr/holdfast-test"} {
			refused(t, dir)
		}
		return
	}
	around := t.TempDir()
	openTo(t, around)
	for name, tt := range map[string]struct {
		make func(t *testing.T, dir string)
		try  func(t *testing.T, dir string) string
		says string
	}{
		"an empty directory of nobody's": {
			func(t *testing.T, dir string) { must(t, os.Mkdir(dir, 0o700)); must(t, os.Chown(dir, nobody, nobody)) },
			func(t *testing.T, dir string) string { return refused(t, dir).Error() }, "belongs to user 65534",
		},
		"a store of nobody's": {
			func(t *testing.T, dir string) {
				must(t, os.Rename(used(t), dir))
				for _, name := range append(filesIn(t, dir), ".") {
					must(t, os.Lchown(filepath.Join(dir, name), nobody, nobody))
				}
			},
			func(t *testing.T, dir string) string { return refused(t, dir).Error() }, "belongs to user 65534",
		},
		"a store of root's, closed": {
			func(t *testing.T, dir string) { must(t, os.Rename(used(t), dir)) }, asNobody, "belongs to user 0",
		},
		"a store of root's, readable": {
			func(t *testing.T, dir string) { must(t, os.Rename(used(t), dir)); must(t, os.Chmod(dir, 0o755)) }, asNobody, "belongs to user 0",
		},
		"a place that only root may write to": {func(*testing.T, string) {}, asNobody, "permission denied"},
		"a read-only directory": {
			func(t *testing.T, dir string) { must(t, os.Mkdir(dir, 0o500)); must(t, os.Chown(dir, nobody, nobody)) },
			asNobody, "permission denied",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(around, strings.ReplaceAll(name, " ", "-"))
			tt.make(t, dir)
			before := lookAt(t, around)
			if text := tt.try(t, dir); !strings.Contains(text, tt.says) {
				t.Errorf("%q does not say %q", text, tt.says)
			}
			unchanged(t, around, before)
		})
	}
}

// TestFilesOfAnotherUser: a file of somebody else's inside the store is not trusted.
func TestFilesOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can give files away; TestTwoUsers tries directories that are root's")
		return
	}
	for _, which := range []string{"holdfast", "locks", "clients"} {
		t.Run(which, func(t *testing.T) {
			dir := used(t)
			must(t, os.Chown(filepath.Join(dir, which), nobody, nobody))
			before := lookAt(t, dir)
			refused(t, dir)
			unchanged(t, dir, before)
		})
	}
	t.Run("lock file", func(t *testing.T) {
		dir := newDir(t)
		locks, other := open(t, dir), open(t, dir)
		hold := take(t, locks, "lock")
		path := lockFile(t, dir)
		must(t, os.Chown(path, nobody, nobody))
		denied(t, other, "lock")
		must(t, os.Chown(path, 0, 0))
		unlock(t, hold)
		unlock(t, gets(t, other, "lock"))
	})
}
