//go:build unix

package run

import (
	"os"
	"path/filepath"
	"strings"
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
		if c.command == dir && !strings.Contains(err.Error(), "is a directory") {
			t.Errorf("find of a directory: %v", err)
		}
	}
	t.Chdir(dir)
	for _, path := range []string{".", "", "/absent:", ":/absent"} {
		t.Setenv("PATH", path)
		if found, code, err := find("good"); found != "./good" || code != 0 {
			t.Errorf("with PATH=%q: %q, %d, %v", path, found, code, err)
		}
	}
	os.Unsetenv("PATH")
	if found, code, err := find("sh"); code != 0 {
		t.Errorf("without PATH: %q, %d, %v", found, code, err)
	}
	t.Setenv("PATH", dir+"/no:"+dir)
	if err := os.Mkdir(filepath.Join(dir, "no"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("no/good", 0o600)
	if found, code, err := find("good"); found != good || code != 0 {
		t.Errorf("a file that cannot be run before one that can: %q, %d, %v", found, code, err)
	}
}
