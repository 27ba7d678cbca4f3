package line_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"holdfast.dev/interop/internal/line"
)

// spy notes what it is asked for.
type spy struct {
	asked  string
	answer error
	hang   bool // until the context ends
}

func (s *spy) note(ctx context.Context, format string, args ...any) error {
	s.asked = fmt.Sprintf(format, args...)
	if s.hang {
		<-ctx.Done()
	}
	return s.answer
}

func (s *spy) Lock(ctx context.Context, name string, ttl, wait time.Duration) error {
	return s.note(ctx, "lock %q for %v, waiting %v", name, ttl, wait)
}

func (s *spy) Try(ctx context.Context, name string, ttl time.Duration) error {
	return s.note(ctx, "try %q for %v", name, ttl)
}

func (s *spy) Extend(ctx context.Context, name string, ttl time.Duration) error {
	return s.note(ctx, "extend %q to %v", name, ttl)
}

func (s *spy) Unlock(ctx context.Context, name string) error { return s.note(ctx, "unlock %q", name) }

func TestServe(t *testing.T) {
	for _, c := range []struct {
		line   string
		answer error
		asked  string
		says   string
	}{
		{"lock a 1500 20", nil, `lock "a" for 1.5s, waiting 20ms`, "ok"},
		{"try a%20b%2F%25%C3%A9 1500", line.ErrHeld, `try "a b/%é" for 1.5s`, "held"},
		{"try a 0", nil, `try "a" for 0s`, "ok"},
		{"extend a 7", fmt.Errorf("why: %w", line.ErrGone), `extend "a" to 7ms`, "gone"},
		{"unlock a", errors.New("two\n  lines"), `unlock "a"`, "error two lines"},
		{"unlock a 7", nil, "", `error "unlock a 7" is none of: lock NAME TTL WAIT, try NAME TTL, extend NAME TTL, unlock NAME, quit`},
		{"lock a x 1", nil, "", `error "x" in "lock a x 1" is no number of milliseconds`},
		{"lock a -1 1", nil, "", `error "-1" in "lock a -1 1" is no number of milliseconds`},
		{"unlock %", nil, "", `error "unlock %" has no name, or one that is not percent-encoded`},
		{"", nil, "", `error "" has no name, or one that is not percent-encoded`},
	} {
		var out strings.Builder
		peer := &spy{answer: c.answer}
		if err := line.Serve(strings.NewReader(c.line+"\nquit\nunlock never\n"), &out, "spy 1", peer); err != nil {
			t.Fatal(err)
		}
		if peer.asked != c.asked || out.String() != "ready spy 1\n"+c.says+"\nok\n" {
			t.Errorf("%q is taken for %s, and answered %q", c.line, peer.asked, out.String())
		}
	}
}

// The end of the input ends everything, also a wait.
func TestServeEndsWithItsInput(t *testing.T) {
	in, ask := io.Pipe()
	out, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- line.Serve(in, write, "spy 1", &spy{hang: true}) }()
	answers := bufio.NewScanner(out)
	if !answers.Scan() || answers.Text() != "ready spy 1" {
		t.Fatalf("it says %q", answers.Text())
	}
	if _, err := io.WriteString(ask, "lock a 1000 1000\n"); err != nil {
		t.Fatal(err)
	}
	ask.Close()
	go io.Copy(io.Discard, out)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
