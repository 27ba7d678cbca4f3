package line_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"holdfast.dev/interop/internal/line"
)

// how tells this program, started once more, which peer to play.
const how = "HOLDFAST_LINE_TEST"

func TestMain(m *testing.M) {
	switch os.Getenv(how) {
	case "":
		os.Exit(m.Run())
	case "held":
		line.Serve(os.Stdin, os.Stdout, "spy 2", &spy{answer: line.ErrHeld})
	case "hangs":
		line.Serve(os.Stdin, os.Stdout, "spy 2", &spy{hang: true})
	case "dies":
		fmt.Fprintln(os.Stderr, "no network")
		os.Exit(3)
	case "talks":
		fmt.Println("hello")
	case "mumbles":
		fmt.Println("ready spy 2")
		fmt.Scanln()
		fmt.Println("well")
	}
}

func run(t *testing.T, as string) (*line.Program, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), how+"="+as)
	return line.Start(t.Context(), cmd)
}

func TestProgram(t *testing.T) {
	p, err := run(t, "held")
	if err != nil {
		t.Fatal(err)
	}
	if p.Version != "spy 2" {
		t.Errorf("it is %q", p.Version)
	}
	ctx := t.Context()
	for _, err := range []error{
		p.Lock(ctx, "a b", time.Second, time.Second), p.Try(ctx, "a b", time.Second), p.Extend(ctx, "a b", time.Second), p.Unlock(ctx, "a b"),
	} {
		if !errors.Is(err, line.ErrHeld) {
			t.Errorf("it answers %v", err)
		}
	}
	p.Close()
	if err := p.Unlock(ctx, "a"); err == nil {
		t.Error("it answers after its end")
	}
	p.Close()
}

// A program that is killed answers no more, and the one who asked is told.
func TestProgramKilled(t *testing.T) {
	p, err := run(t, "hangs")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan error, 1)
	go func() { asked <- p.Lock(t.Context(), "a", time.Second, time.Hour) }()
	p.Kill()
	if err := <-asked; err == nil || errors.Is(err, line.ErrHeld) {
		t.Errorf("who asked is told %v", err)
	}
}

// What goes wrong is an error, and never held.
func TestProgramFails(t *testing.T) {
	for as, says := range map[string]string{"dies": "no network", "talks": `"hello"`} {
		if _, err := run(t, as); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the start of one that %s: %v", as, err)
		}
	}
	p, err := run(t, "mumbles")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Try(t.Context(), "a", time.Second); err == nil || errors.Is(err, line.ErrHeld) || errors.Is(err, line.ErrGone) {
		t.Errorf("no answer is taken for %v", err)
	}
}
