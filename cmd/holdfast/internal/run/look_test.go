//go:build unix

package run

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/cmd/holdfast/internal/exit"
)

// A command is found, or the code is the one that shells use.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, plain := write("good", 0o755), write("plain", 0o644)
	t.Setenv("PATH", dir)
	for _, c := range []struct {
		command, path string
		code          int
	}{
		{"good", good, 0},
		{good, good, 0},
		{"plain", "", exit.CannotRun},
		{plain, "", exit.CannotRun},
		{dir, "", exit.CannotRun},
		{"absent", "", exit.NotFound},
		{filepath.Join(dir, "absent"), "", exit.NotFound},
		{"", "", exit.NotFound},
	} {
		path, code, err := find(c.command)
		if path != c.path || code != c.code || (err == nil) != (code == 0) {
			t.Errorf("find(%q) = %q, %d, %v; want %q, %d", c.command, path, code, err, c.path, c.code)
		}
	}
	t.Chdir(dir)
	t.Setenv("PATH", ".")
	if path, code, err := find("good"); path == "" || code != 0 {
		t.Errorf("with . in PATH: %q, %d, %v", path, code, err)
	}
}
