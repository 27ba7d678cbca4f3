//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A machine is a directory of commands: all that .ci/packages can call.
type machine struct {
	t    *testing.T
	bin  string
	done string // what its apt-get was asked for, a line each
}

// newMachine makes one that has the commands which the script itself needs.
func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, bin: t.TempDir()}
	m.done = filepath.Join(m.bin, "done")
	for _, name := range []string{"sh", "env", "ln", "paste", "sort", "true"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(m.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// has gives it commands that do what the script says.
func (m *machine) has(script string, names ...string) {
	m.t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(m.bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			m.t.Fatal(err)
		}
	}
}

// packages runs the script there.
func (m *machine) packages(require string, args ...string) (output string, code int, done []string) {
	m.t.Helper()
	script, err := filepath.Abs("../../.ci/packages")
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.CommandContext(m.t.Context(), filepath.Join(m.bin, "sh"), append([]string{script}, args...)...)
	cmd.Env = []string{"PATH=" + m.bin, "BIN=" + m.bin, "DONE=" + m.done, "HOLDFAST_TEST_REQUIRE=" + require}
	raw, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	asked, err := os.ReadFile(m.done)
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return string(raw), cmd.ProcessState.ExitCode(), strings.Fields(strings.ReplaceAll(string(asked), " ", "_"))
}

const (
	// An apt-get that knows of packages only after an update, and then installs what has flock and git.
	freshApt = `echo "$*" >>"$DONE"
case $1 in
update) : >"$BIN/updated" ;;
install) [ -e "$BIN/updated" ] || exit 100; for c in flock setsid unshare git cc; do ln -s "$BIN/true" "$BIN/$c"; done ;;
esac`
	// An apt-get that must not be called.
	noApt = `echo called >>"$DONE"`
	// A sudo that needs no password, and one that does.
	sudo   = `[ "$1" = -n ] && shift && exec "$@"`
	noSudo = `exit 1`

	install = "install_--yes_--no-install-recommends_git_util-linux"
	forRace = "install_--yes_--no-install-recommends_gcc_libc6-dev"
)

// TestPackages: make test installs what the tests use where it can, tells what to install where it cannot, and costs nothing where
// nothing is missing.
func TestPackages(t *testing.T) {
	all := []string{"bash", "faketime", "flock", "git", "nohup", "redis-server", "setsid", "stty", "unshare"}
	some := []string{"bash", "faketime", "nohup", "redis-server", "stty"}
	tests := []struct {
		name    string
		there   []string
		apt     string
		sudo    string
		uid     string
		require string
		code    int
		done    string
		says    string
		args    []string
	}{
		{"nothing is missing", all, noApt, noSudo, "0", "all", 0, "", "", nil},
		{"root installs", some, freshApt, "", "0", "all", 0, install + " update " + install, "installing what the tests need: git util-linux", nil},
		{"a user with sudo installs", some, freshApt, sudo, "1000", "all", 0, install + " update " + install, "installing", nil},
		{"a user without is told", some, noApt, noSudo, "1000", "", 0, "", "apt-get install git util-linux", nil},
		{"and told without sudo at all", some, noApt, "", "1000", "", 0, "", "apt-get install git util-linux", nil},
		{"which is an error where all is required", some, noApt, noSudo, "1000", "all", 1, "", "apt-get install git util-linux", nil},
		{"another system", some, "", sudo, "0", "", 0, "", "apt-get install git util-linux), or what has the same commands elsewhere", nil},
		{"an installation that fails", some, "exit 100", "", "0", "all", 1, "", "could not be installed: git util-linux", nil},
		{"the race detector needs more", all, freshApt, "", "0", "all", 0, forRace + " update " + forRace, "installing", []string{"race"}},
		{"which is told, too", all, noApt, noSudo, "1000", "all", 1, "", "apt-get install gcc libc6-dev)", []string{"race"}},
		{"so do the peers", all, noApt, noSudo, "1000", "", 0, "", "apt-get install nodejs npm python3-redis)", []string{"interop"}},
		{"which may be there", append(all, "node", "npm", "python3"), noApt, noSudo, "0", "all", 0, "", "", []string{"interop"}},
		{"redis-py may be the system's", append(all, "node", "npm", "dpkg-query"), noApt, noSudo, "0", "all", 0, "", "", []string{"interop"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.has("exit 0", tt.there...)
			m.has("echo "+tt.uid, "id")
			for name, script := range map[string]string{"apt-get": tt.apt, "sudo": tt.sudo} {
				if script != "" {
					m.has(script, name)
				}
			}
			output, code, done := m.packages(tt.require, tt.args...)
			if code != tt.code || strings.Join(done, " ") != tt.done {
				t.Errorf("code %d, want %d; apt-get was asked for %q, want %q; it said:\n%s", code, tt.code, done, tt.done, output)
			}
			if !strings.Contains(output, tt.says) || (tt.says == "" && output != "") {
				t.Errorf("it said %q, want %q", output, tt.says)
			}
		})
	}
}
