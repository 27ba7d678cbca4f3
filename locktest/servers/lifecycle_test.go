package servers_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
)

func restart(t *testing.T, r *servers.Redis) {
	t.Helper()
	if err := r.Restart(patience(t)); err != nil {
		t.Fatal(err)
	}
}

func TestKillAndRestart(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []servers.RedisOption
		want    any
	}{
		{"nothing is kept by default", nil, nil},
		{"a log keeps all", []servers.RedisOption{servers.RedisSet("appendonly", "yes"), servers.RedisSet("appendfsync", "always")}, "value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, c.options...)
			addr, pid, dir := r.Addr(), r.Pid(), r.Dir()
			do(t, r, "SET", "key", "value")
			do(t, r, "CONFIG", "SET", "maxclients", "99") // not in the settings
			r.Kill()
			r.Kill() // nothing to do
			if _, err := r.Do(patience(t), "PING"); err == nil {
				t.Error("it answers though it was killed")
			}
			restart(t, r)
			answers(t, r, c.want, "GET", "key")
			if r.Addr() != addr || r.Dir() != dir || r.Pid() == pid {
				t.Errorf("%s, process %d, in %s has become %s, process %d, in %s", addr, pid, dir, r.Addr(), r.Pid(), r.Dir())
			}
			if limit := do(t, r, "CONFIG", "GET", "maxclients").([]any)[1]; limit == "99" {
				t.Error("its settings have changed")
			}
			restart(t, r) // also while it runs
			answers(t, r, c.want, "GET", "key")
		})
	}
}

func TestTerminate(t *testing.T) {
	r := start(t)
	if err := r.Terminate(patience(t)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Log(), "bye bye") {
		t.Errorf("it did not end in order; its log: %s", r.Log())
	}
	if err := r.Terminate(patience(t)); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("once more: %v", err)
	}
	restart(t, r)
	if _, err := r.Do(patience(t), "SHUTDOWN", "NOSAVE"); err == nil {
		t.Error("an answer to SHUTDOWN")
	}
	if err := r.Wait(patience(t)); err != nil {
		t.Fatal(err)
	}
	restart(t, r)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for the end of one that runs: %v", err)
	}
}

// A port that somebody has taken meanwhile is waited for, and named if that does not help.
func TestRestartOnATakenPort(t *testing.T) {
	r := start(t)
	r.Kill()
	squatter, err := net.Listen("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := r.Restart(soon); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "its port is in use") {
		t.Errorf("while the port is taken: %v", err)
	}
	restarted := make(chan error)
	go func() { restarted <- r.Restart(patience(t)) }()
	squatter.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute))
	for range 2 {
		conn, err := squatter.Accept() // Restart asks whether it is its own server that listens
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	squatter.Close()
	if err := <-restarted; err != nil {
		t.Error(err)
	}
	answers(t, r, "PONG", "PING")
}

func TestCloseLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(r *servers.Redis) error
	}{
		{"running", func(*servers.Redis) error { return nil }},
		{"killed", func(r *servers.Redis) error { r.Kill(); return nil }},
		{"restarted", func(r *servers.Redis) error { return r.Restart(context.Background()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t)
			if err := c.before(r); err != nil {
				t.Fatal(err)
			}
			var group sync.WaitGroup
			for range 3 {
				group.Go(func() {
					if err := r.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			isGone(t, r)
			if !strings.Contains(r.Log(), "Ready to accept connections") {
				t.Errorf("its log can no longer be read: %q", r.Log())
			}
			if err := r.Restart(patience(t)); !errors.Is(err, os.ErrClosed) {
				t.Errorf("Restart after Close: %v", err)
			}
		})
	}
}

// Close beside Restart: whichever comes first, nothing is left.
func TestCloseBesideRestart(t *testing.T) {
	for range 5 {
		r := start(t)
		var group sync.WaitGroup
		group.Go(func() { r.Restart(patience(t)) }) // either result is right
		group.Go(func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		isGone(t, r)
	}
}

// isGone checks that neither process nor directory are left.
func isGone(t *testing.T, r *servers.Redis) {
	t.Helper()
	if conn, err := net.Dial("tcp", r.Addr()); err == nil {
		conn.Close()
		t.Error("somebody listens on its port")
	}
	if _, err := os.Stat(r.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory is left: %v", err)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(r.Pid())); err == nil {
		t.Errorf("process %d is left", r.Pid())
	}
}
