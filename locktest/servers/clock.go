package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// A clock is a server's wall clock, which we can set: libfaketime stands between the server and the system, and reads from a file how
// far off the time is, anew each time. The monotonic clock is left alone, as it is when somebody sets the time.
type clock struct {
	library string
	file    string

	mu     sync.Mutex
	offset time.Duration
}

// newClock finds libfaketime by asking the program of the same name, which knows where it is.
func newClock(ctx context.Context, dir string) (*clock, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("a clock that can be set, on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	faketime, err := find("faketime", "faketime")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, faketime, "-f", "+0", "env")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // what we have preloaded ourselves is not its answer
	environment, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("asking %s where its library is: %w", faketime, err)
	}
	c := &clock{file: filepath.Join(dir, "clock")}
	for line := range bytes.Lines(environment) {
		if library, found := bytes.CutPrefix(bytes.TrimSpace(line), []byte("LD_PRELOAD=")); found {
			c.library = string(library)
		}
	}
	if c.library == "" {
		return nil, fmt.Errorf("%s preloads no library here", faketime)
	}
	return c, c.step(0)
}

// environment is what a program with this clock needs. Without the C library's own name allocators that ask for the time while they
// set themselves up hang.
func (c *clock) environment() []string {
	if c == nil {
		return nil
	}
	return []string{
		"LD_PRELOAD=" + c.library + ":libc.so.6",
		"FAKETIME_TIMESTAMP_FILE=" + c.file,
		"FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
	}
}

// step moves the clock. The file is replaced, never seen half written.
func (c *clock) step(d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strconv.FormatFloat((c.offset + d).Seconds(), 'f', 9, 64)
	if c.offset+d >= 0 {
		text = "+" + text
	}
	next := c.file + ".next"
	if err := os.WriteFile(next, []byte(text+"\n"), 0o600); err != nil {
		return err
	}
	if err := os.Rename(next, c.file); err != nil {
		return err
	}
	c.offset += d
	return nil
}

// cleanUp removes what libfaketime leaves when its process is killed.
func (c *clock) cleanUp(pid int) {
	if c == nil {
		return
	}
	for _, name := range []string{"faketime_shm_", "sem.faketime_sem_"} {
		os.Remove(filepath.Join("/dev/shm", name+strconv.Itoa(pid))) // an error: it has removed it itself
	}
}

// StepClock lets the server's wall clock jump by d, ahead or back, at once. Steps add up, and a restart keeps them. It needs a server
// that was started with a clock of its own: see [RedisClock].
func (s *Server) StepClock(d time.Duration) error {
	if s.clock == nil {
		return fmt.Errorf("%s runs on the system's clock: start it with an option that gives it its own", s.name)
	}
	return s.clock.step(d)
}
