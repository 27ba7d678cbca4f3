//go:build unix

package run

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// lookPath finds a command. A current directory that is in PATH counts, as in shells: whoever put it there wants that.
func lookPath(command string) (string, error) {
	path, err := exec.LookPath(command)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, exec.ErrDot):
		return path, nil
	case isForbidden(command):
		return "", syscall.EACCES
	}
	return "", err
}

// isForbidden reports whether there is such a file, which cannot be executed.
func isForbidden(command string) bool {
	if command == "" {
		return false
	}
	candidates := []string{command}
	if !strings.Contains(command, "/") {
		candidates = nil
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			candidates = append(candidates, filepath.Join(dir, command))
		}
	}
	for _, path := range candidates {
		if _, err := os.Stat(path); err == nil || errors.Is(err, os.ErrPermission) {
			return true
		}
	}
	return false
}
