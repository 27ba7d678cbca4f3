//go:build linux

package endtoend_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"holdfast.dev"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/remote"
	"holdfast.dev/memlock"
)

// A world is where one test's processes live.
type world struct {
	t       *testing.T
	dir     string
	journal string
	mark    string   // in the environment of every process
	env     []string // of whatever is started
	store   string   // its URL

	dumped sync.Once

	// Of a served world.
	proxy  *netfault.Proxy
	server net.Listener
}

// newWorld makes a world whose store is the program's own default: a directory in the world's home.
func newWorld(t *testing.T) *world {
	dir := t.TempDir()
	w := &world{t: t, dir: dir, journal: filepath.Join(dir, "journal"), mark: runMark + rand.Text()}
	bin, home := filepath.Join(dir, "bin"), filepath.Join(dir, "home")
	for _, d := range []string{bin, home} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"holdfast", "actor"} {
		if err := os.Symlink(ourExe, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.store = "file://" + filepath.Join(home, ".local", "state", "holdfast", "locks")
	w.env = []string{
		"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + home, "TERM=dumb", "SHELL=/bin/bash", "LC_ALL=C", w.mark, "J=" + w.journal,
		"GORACE=atexit_sleep_ms=0", // or every program would take a second to end under the race detector
	}
	t.Cleanup(w.clear)
	return w
}

// newServedWorld makes a world whose store has TTLs and is reached through a network that can be spoilt.
func newServedWorld(t *testing.T) *world {
	w := newWorld(t)
	var err error
	if w.server, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- remote.Serve(w.server, memlock.NewServer().Connect()) }()
	if w.proxy, err = netfault.New(w.server.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.proxy.Close()
		w.server.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	w.store = remote.Scheme + "://" + w.proxy.Addr()
	w.env = append(w.env, "HOLDFAST_STORE="+w.store)
	t.Cleanup(w.clear) // before the server ends: cleanups run backwards
	return w
}

// onEachStore runs a test on the default store, on the one with TTLs, and on a real Redis.
func onEachStore(t *testing.T, test func(*testing.T, *world)) {
	for name, create := range map[string]func(*testing.T) *world{"directory": newWorld, "server": newServedWorld, "redis": newRedisWorld} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, create(t))
		})
	}
}

func (w *world) ours(p process) bool { return p.hasEnv(w.mark) }

// clear checks that nobody is left, and makes it so.
func (w *world) clear() {
	if w.dump(); !w.t.Failed() {
		if left := awaitNobody(w.ours); len(left) > 0 {
			w.t.Errorf("processes are left:\n%s", listing(left))
		}
	}
	killAll(w.ours)
}

// dump shows what there was when the test had failed, before cleaning up changes it.
func (w *world) dump() {
	if !w.t.Failed() {
		return
	}
	w.dumped.Do(func() {
		w.t.Logf("processes when it failed:\n%s", listing(processes(w.ours)))
		var journal strings.Builder
		for _, e := range w.entries() {
			if e.event != "beat" {
				fmt.Fprintf(&journal, "   %d %d %s %s\n", e.at, e.pid, e.run, e.event)
			}
		}
		w.t.Logf("the journal's last part, without beats:\n%s", journal.String()[max(0, journal.Len()-2000):])
	})
}

// path is that of a file of this world.
func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, text string) string {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o777); err != nil {
		w.t.Fatal(err)
	}
	return w.path(name)
}

func (w *world) readFile(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// client opens the world's store for the test itself, around the proxy.
func (w *world) client() *holdfast.Client {
	w.t.Helper()
	url := w.store
	if w.server != nil {
		url = remote.Scheme + "://" + w.server.Addr().String()
	}
	client, err := holdfast.Open(w.t.Context(), url)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { client.Close() })
	return client
}

// A running is a program that was started without a terminal, in a session of its own.
type running struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err *os.File // files: a pipe would be kept open by what the program leaves
	done     chan struct{}
}

// start starts a program of the world's PATH.
func (w *world) start(name string, args ...string) *running {
	w.t.Helper()
	return w.startCmd(w.command(name, args...))
}

func (w *world) command(name string, args ...string) *exec.Cmd {
	path := name
	for dir := range strings.SplitSeq(strings.TrimPrefix(w.env[0], "PATH="), ":") {
		if found := filepath.Join(dir, name); !strings.Contains(name, "/") && unix.Access(found, unix.X_OK) == nil {
			path = found
			break
		}
	}
	return &exec.Cmd{Path: path, Args: append([]string{name}, args...), Env: w.env, Dir: w.dir, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
}

func (w *world) startCmd(cmd *exec.Cmd) *running {
	w.t.Helper()
	r := &running{t: w.t, cmd: cmd, done: make(chan struct{})}
	r.out, r.err = w.scratch(), w.scratch()
	if cmd.Stdout == nil {
		cmd.Stdout = r.out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = r.err
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		cmd.Wait()
	}()
	w.t.Cleanup(func() {
		if w.dump(); !w.t.Failed() && !r.hasEnded() {
			w.t.Errorf("nobody waited for the end of %q", cmd.Args)
		}
		hadEnded := r.hasEnded()
		cmd.Process.Kill()
		<-r.done
		if text, err := os.ReadFile(r.err.Name()); w.t.Failed() && err == nil {
			w.t.Logf("%q had ended %t: %v, errors %q", cmd.Args, hadEnded, cmd.ProcessState, text)
		}
	})
	return r
}

func (w *world) scratch() *os.File {
	w.t.Helper()
	f, err := os.CreateTemp(w.dir, "output-")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { f.Close() })
	return f
}

// A result is how a program ended.
type result struct {
	code        int // as a shell shows it: 128+n for signal n
	out, errors string
}

func (r *running) process() process { return process{r.cmd.Process.Pid} }

func (r *running) hasEnded() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// wait waits for the end.
func (r *running) wait() result {
	r.t.Helper()
	until(r.t, "this ends: "+strings.Join(r.cmd.Args, " "), r.hasEnded)
	out, err1 := os.ReadFile(r.out.Name())
	text, err2 := os.ReadFile(r.err.Name())
	if err := errors.Join(err1, err2); err != nil {
		r.t.Fatal(err)
	}
	status := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	return result{code, string(out), string(text)}
}

// ends waits for the end and checks the code.
func (r *running) ends(code int) result {
	r.t.Helper()
	got := r.wait()
	if got.code != code {
		r.t.Errorf("%q ended with %d, want %d; output %q, errors %q", r.cmd.Args, got.code, code, got.out, got.errors)
	}
	return got
}

// kill sends a signal to the program.
func (r *running) kill(s unix.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Errorf("kill: %v", err)
	}
}

// holdfast runs the program to its end, and checks the code.
func (w *world) holdfast(code int, args ...string) result {
	w.t.Helper()
	return w.start("holdfast", args...).ends(code)
}

// isFree checks that a lock can be had at once.
func (w *world) isFree(name string) {
	w.t.Helper()
	w.holdfast(0, "run", "-n", name, "--", "true")
}

// waiters is how many wait for a lock.
func (w *world) waiters(c *holdfast.Client, name string) int {
	w.t.Helper()
	info, err := c.Inspect(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(info.Waiters)
}

// awaitWaiters waits until so many wait.
func (w *world) awaitWaiters(c *holdfast.Client, name string, n int) {
	w.t.Helper()
	until(w.t, "somebody waits for "+name, func() bool { return w.waiters(c, name) == n })
}

// hasWaiters checks that so many wait, now.
func (w *world) hasWaiters(c *holdfast.Client, name string, n int) {
	w.t.Helper()
	if got := w.waiters(c, name); got != n {
		w.t.Errorf("%d wait for %s, want %d", got, name, n)
	}
}

func contains(text, part string) bool { return strings.Contains(text, part) }
