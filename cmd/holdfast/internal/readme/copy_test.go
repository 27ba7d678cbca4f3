//go:build unix

package readme

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A house is a clean copy of the repository, and somebody's empty home.
type house struct {
	repository string
	home       string
	env        []string
}

// root is the repository that this file is in.
const root = "../../../.."

func newHouse(t *testing.T) *house {
	t.Helper()
	if testing.Short() {
		t.Skip("it compiles the program in a copy of the repository")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{repository: filepath.Join(dir, "holdfast"), home: filepath.Join(dir, "home")}
	for _, d := range []string{h.home, filepath.Join(h.home, "tmp")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tracked, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("git ls-files: %v: what belongs to the repository only git knows", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(tracked), "\x00"), "\x00") {
		copyFile(t, filepath.Join(root, name), filepath.Join(h.repository, name))
	}
	h.env = append(goEnvironment(t), "HOME="+h.home, "TMPDIR="+filepath.Join(h.home, "tmp"), "PATH="+os.Getenv("PATH"), "SHELL=/bin/sh",
		"LANG=C.UTF-8", "TERM=dumb")
	return h
}

// copyFile copies what is there. A file that is tracked but was just removed is not: the copy shows the working tree as it is.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, raw, info.Mode().Perm()); err != nil {
		t.Fatal(err)
	}
}

// goEnvironment returns where the caller's go command has its caches and gets modules from. All else has its defaults.
func goEnvironment(t *testing.T) []string {
	t.Helper()
	raw, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]string
	if err := json.Unmarshal(raw, &values); err != nil {
		t.Fatal(err)
	}
	env := []string{"GOENV=off"}
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	return env
}

// standIn makes a command that stands for one of the reader's own. It notes that it was run, and how.
func (h *house) standIn(t *testing.T, path string) {
	t.Helper()
	script := "#!/bin/sh\n" + `echo "$(basename "$0") $* under $HOLDFAST_NAME" >>` + h.notes() + "\n"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

func (h *house) notes() string { return filepath.Join(h.home, "tmp", "notes") }

// noted returns what stand-ins have noted.
func (h *house) noted(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(h.notes())
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(raw)
}
