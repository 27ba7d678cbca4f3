package program_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/locktest/remote"
	"holdfast.dev/memlock"
)

func token(hold *holdfast.Hold) string { return fmt.Sprint(hold.Token()) }

func TestBreak(t *testing.T) {
	w := newWorld(t)
	locks := w.locks(holdfast.Label("job"))
	hold := w.hold(locks.Mutex("x"))
	permits := w.hold(locks.Semaphore("x", 2).Permits(1))
	ctx := hold.Context(t.Context())

	w.expect(result{code: 1, stderr: "holdfast: no hold of the lock \"free\" has the token 7; it is free\n"}, "break", "free", "--token", "7")
	w.expect(result{code: 1, stderr: fmt.Sprintf("holdfast: no hold of the lock \"x\" has the token 99999; it is held now with token %d; "+
		"holdfast inspect x shows by whom\n", hold.Token())}, "break", "x", "--token", "99999")
	w.expect(result{code: 1, stderr: fmt.Sprintf("holdfast: no hold of the lock \"x\" has the token %d; but the semaphore of that name has one: "+
		"add --semaphore\n", permits.Token())}, "break", "x", "--token", token(permits))
	w.expect(result{code: 1, stderr: fmt.Sprintf("holdfast: no hold of the semaphore \"x\" has the token %d; but the lock of that name has one: "+
		"leave --semaphore out\n", hold.Token())}, "break", "x", "--semaphore", "--token", token(hold))
	if hold.Err() != nil || permits.Err() != nil {
		t.Fatal("what was refused broke something")
	}

	got := w.run("break", "x", "--token", token(hold))
	want := "told the holder of the lock \"x\" to end: HOST:PID job\n" +
		"On this store nothing runs out: the lock is free when the holder lets go or ends. If it does neither, add --now.\n"
	if steady(got.stdout) != want || got.stderr != "" || got.code != 0 {
		t.Errorf("break: %d, %q, %q", got.code, got.stdout, got.stderr)
	}
	<-ctx.Done()
	var lost *holdfast.LostError
	if !errors.As(hold.Err(), &lost) || lost.Reason != holdfast.ReasonBroken || !strings.Contains(lost.Error(), " holdfast break") {
		t.Errorf("its holder is told %v", hold.Err())
	}
	if _, err := w.locks().Mutex("x").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("it is not held any more, before its holder let go: %v", err)
	}

	got = w.run("break", "x", "--now", "--token", token(hold))
	want = "freed the lock \"x\" at once; its holder is told, but may still be at work: HOST:PID job (broken: told to end)\n"
	if steady(got.stdout) != want || got.code != 0 {
		t.Errorf("break --now: %d, %q, %q", got.code, got.stdout, got.stderr)
	}
	w.hold(w.locks().Mutex("x"))

	got = w.run("break", "--semaphore", "--token", token(permits), "x")
	if !strings.HasPrefix(steady(got.stdout), "told the holder of the semaphore \"x\" to end: HOST:PID job\n") || got.code != 0 {
		t.Errorf("break --semaphore: %d, %q, %q", got.code, got.stdout, got.stderr)
	}
	<-permits.Context(t.Context()).Done()
}

// serve is a store with TTLs, and its URL.
func serve(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		remote.Serve(listener, memlock.NewServer().Connect())
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return remote.Scheme + "://u:" + canary + "@" + listener.Addr().String()
}

// Where holds run out, ls and break tell when.
func TestBreakWithTTLs(t *testing.T) {
	w := newWorld(t)
	url := serve(t)
	w.env = append(w.env, "HOLDFAST_STORE="+url)
	locks, err := holdfast.Open(t.Context(), url, holdfast.Label("job"), holdfast.TTL(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { locks.Close() })
	hold := w.hold(locks.Mutex("x"))
	if row := fields(w.run("ls").stdout)[1]; row[5] != "1h00m" && row[5] != "59m59s" && row[5] != "59m58s" {
		t.Errorf("what is left: %q", row)
	}
	var listed []struct{ Holders []struct{ Left float64 } }
	if err := json.Unmarshal([]byte(w.run("ls", "--json").stdout), &listed); err != nil || listed[0].Holders[0].Left < 3000 {
		t.Errorf("--json: %v, %v", err, listed)
	}
	got := w.run("break", "x", "--token", token(hold))
	want := regexp.MustCompile(`^told the holder of the lock "x" to end: \S+ job\nIt is not renewed any more: the lock is free when the holder lets go, ` +
		`in (1h00m|59m5\ds) at the latest\.\n$`)
	if !want.MatchString(got.stdout) || got.code != 0 || got.stderr != "" {
		t.Errorf("break: %v", got)
	}
}
