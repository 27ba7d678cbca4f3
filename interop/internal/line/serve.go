package line

import (
	"bufio"
	"context"
	"fmt"
	"io"
)

// Serve is the peer's end of the lines, for libraries in Go: it answers until quit, or the end of its input, whose error it returns.
func Serve(in io.Reader, out io.Writer, version string, locks Locks) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lines, ended := make(chan string), make(chan error, 1)
	go func() {
		scanner := bufio.NewScanner(in)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
		cancel() // whatever is under way: nobody waits for its answer
		ended <- scanner.Err()
	}()
	if _, err := fmt.Fprintf(out, "ready %s\n", version); err != nil {
		return err
	}
	for {
		select {
		case err := <-ended:
			return err
		case line := <-lines:
			if line == "quit" {
				_, err := fmt.Fprintln(out, "ok")
				return err
			}
			if _, err := fmt.Fprintln(out, answer(perform(ctx, locks, line))); err != nil {
				return err
			}
		}
	}
}
