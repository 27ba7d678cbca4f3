package servers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
)

// emptyTemp lets temporary directories be made in a new place, and returns what is there later.
func emptyTemp(t *testing.T) func() []os.DirEntry {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return func() []os.DirEntry {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return entries
	}
}

func TestMissing(t *testing.T) {
	left := emptyTemp(t)
	t.Setenv("PATH", t.TempDir())
	_, err := servers.StartRedis(patience(t))
	if !errors.Is(err, servers.ErrMissing) || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("without redis-server: %v", err)
	}
	if _, err := servers.StartRedis(patience(t), servers.RedisProgram(filepath.Join(t.TempDir(), "none"))); !errors.Is(err, servers.ErrMissing) {
		t.Errorf("without a program of that path: %v", err)
	}
	if left := left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMissingFaketime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("clocks can be stepped on Linux alone")
	}
	left := emptyTemp(t)
	program := script(t, "exit 1")
	t.Setenv("PATH", t.TempDir())
	_, err := servers.StartRedis(patience(t), servers.RedisProgram(program), servers.RedisClock())
	if !errors.Is(err, servers.ErrMissing) || !strings.Contains(err.Error(), "apt-get install faketime") {
		t.Errorf("without faketime: %v", err)
	}
	if left := left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// script writes a program.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// A server that cannot start says why, soon, and leaves nothing.
func TestCannotStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no scripts")
	}
	servers.Need(t, func() error { // of what one case runs
		r, err := servers.StartRedis(patience(t))
		if err == nil {
			err = r.Close()
		}
		return err
	}())
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		option servers.RedisOption
		is     error
		says   string
	}{
		{"wrong settings", patience(t), servers.RedisSet("nonsense", "1"), nil, "Bad directive"},
		{"it ends at once", patience(t), servers.RedisProgram(script(t, "echo because of this; exit 7")), nil, "exit status 7) before it answered; the end of its log:\nbecause of this"},
		{"it says nothing", short, servers.RedisProgram(script(t, "echo still here; exec sleep 600")), context.DeadlineExceeded, "still here"},
		{"there is no time", over, servers.RedisSet("save", ""), context.Canceled, ""},
		{"it is no program", patience(t), servers.RedisProgram(text(t)), nil, "looking for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			left := emptyTemp(t)
			r, err := servers.StartRedis(c.ctx, c.option)
			if err == nil {
				r.Close()
				t.Fatal("it has started")
			}
			if !strings.Contains(err.Error(), c.says) || (c.is != nil && !errors.Is(err, c.is)) || errors.Is(err, servers.ErrMissing) {
				t.Errorf("it says: %v", err)
			}
			if left := left(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// text is a file that cannot be run.
func text(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A witness is a test that only notes what was asked of it.
type witness struct{ said []string }

func (w *witness) Helper() {}
func (w *witness) Skipf(format string, a ...any) {
	w.said = append(w.said, "skip: "+fmt.Sprintf(format, a...))
}
func (w *witness) Fatalf(format string, a ...any) {
	w.said = append(w.said, "fail: "+fmt.Sprintf(format, a...))
}

func TestNeed(t *testing.T) {
	missing := fmt.Errorf("a program is %w", servers.ErrMissing)
	for _, c := range []struct {
		require string
		err     error
		want    []string
	}{
		{"", nil, nil},
		{"all", nil, nil},
		{"", missing, []string{"skip: a server that this test needs: a program is not installed"}},
		{"all", missing, []string{"fail: a server that this test needs: a program is not installed"}},
		{"", errors.New("broken"), []string{"fail: a server that this test needs: broken"}},
	} {
		t.Setenv("HOLDFAST_TEST_REQUIRE", c.require)
		w := new(witness)
		servers.Need(w, c.err)
		if !slices.Equal(w.said, c.want) {
			t.Errorf("%v, require %q: %q, want %q", c.err, c.require, w.said, c.want)
		}
	}
}
