// Command testrun runs go test with the arguments that it is given, and prints what people want to know of it: one line for each
// package as go test prints it, failures in full, skipped tests with their reason, and the ten slowest tests. It fails if go test
// fails, if nothing was tested, and, where HOLDFAST_TEST_REQUIRE is "all", if a test was skipped: then everything is expected to
// be there, and a test that skips itself would be taken for one that passed.
//
//	go run ./internal/testrun -race work
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	// Whoever ends a run that hangs wants to know what hangs.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, ".", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

// run is everything but the exit status.
func run(ctx context.Context, dir string, args []string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := newReport(out)
	readErr := r.read(events)
	waitErr := cmd.Wait() // closes the pipe, so it comes after the reading
	r.summary()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("ended from outside: %w", context.Cause(ctx))
	case waitErr != nil:
		return fmt.Errorf("go test: %w", waitErr)
	case readErr != nil:
		return fmt.Errorf("reading the output of go test: %w", readErr)
	}
	return r.verdict(os.Getenv("HOLDFAST_TEST_REQUIRE") == "all")
}
