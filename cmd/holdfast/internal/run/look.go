//go:build unix

package run

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"holdfast.dev/cmd/holdfast/internal/exit"
)

// find looks the command up as a shell would, and returns the code if it cannot be run.
func find(command string) (path string, code int, err error) {
	if strings.Contains(command, "/") {
		if err = executable(command); err == nil {
			return command, 0, nil
		}
		return "", codeOf(err), fmt.Errorf("%s: %w", command, err)
	}
	code, err = exit.NotFound, error(syscall.ENOENT)
	for _, dir := range searchPath() {
		path := filepath.Join(dir, command)
		if !strings.Contains(path, "/") {
			path = "./" + path // the current directory counts, if somebody has put it there
		}
		switch problem := executable(path); {
		case command == "":
		case problem == nil:
			return path, 0, nil
		case codeOf(problem) == exit.CannotRun && code == exit.NotFound: // something else of that name may follow
			code, err = exit.CannotRun, problem
		}
	}
	if code == exit.NotFound {
		return "", code, fmt.Errorf("%s: command not found", command)
	}
	return "", code, fmt.Errorf("%s: %w", command, err)
}

// searchPath is where commands are looked for. Without PATH it is where C programs look.
func searchPath() []string {
	path, set := os.LookupEnv("PATH")
	if !set {
		return []string{"/bin", "/usr/bin"}
	}
	if path == "" {
		return []string{"."}
	}
	dirs := filepath.SplitList(path)
	for i, dir := range dirs {
		if dir == "" {
			dirs[i] = "."
		}
	}
	return dirs
}

// executable says why a file cannot be run.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err.(*fs.PathError).Err
	case info.IsDir():
		return syscall.EISDIR
	case unix.Access(path, unix.X_OK) != nil:
		return errForbidden
	}
	return nil
}

var errForbidden = fmt.Errorf("%w; is it executable?", syscall.EACCES)

func codeOf(err error) int {
	if err == syscall.ENOENT || err == syscall.ENOTDIR {
		return exit.NotFound
	}
	return exit.CannotRun
}
