package program

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/torture"
)

// outputFlags say where a result of torture goes.
type outputFlags struct {
	json, markdown bool
	html           string
}

func (f *outputFlags) define(flags *pflag.FlagSet) {
	flags.BoolVar(&f.json, "json", false, "print the result as JSON")
	flags.StringVar(&f.html, "html", "", "also write the result as a page, with a timeline to look at, into `FILE`")
}

// writable finds out before hours of work whether the page can be written.
func (f *outputFlags) writable() error {
	if f.html == "" {
		return nil
	}
	_, missing := os.Stat(f.html)
	file, err := os.OpenFile(f.html, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	err = file.Close()
	if missing != nil {
		err = errors.Join(err, os.Remove(f.html))
	}
	return err
}

// stoppable returns a context that ends with the first ^C or SIGTERM, for the reason with which the program ends then. The second one
// ends the program at once.
func stoppable() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			number, _ := s.(syscall.Signal)
			cancel(ended(exit.Signal(int(number))))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// tortured prints a result, as far as there is one, and returns how the program ends. ctx is that of the run.
func (p *program) tortured(ctx context.Context, result *torture.Result, err error, f outputFlags) error {
	if errors.Is(err, torture.ErrOption) {
		return exit.Usagef("%v", err)
	}
	if result == nil {
		return err
	}
	failed := p.printResult(result, f)
	switch stopped := errors.Is(err, torture.ErrStopped); {
	case failed != nil, err != nil && !stopped:
		return errors.Join(err, failed)
	case stopped && result.Violations() == 0:
		p.voice.Printf("%v", err)
		return context.Cause(ctx)
	case !result.Passed():
		return ended(exit.NotGot)
	}
	return nil
}

func (p *program) printResult(result *torture.Result, f outputFlags) error {
	var err error
	if f.html != "" {
		err = writeFile(f.html, result.HTML)
	}
	switch {
	case f.json:
		return errors.Join(err, result.JSON(p.out))
	case f.markdown:
		return errors.Join(err, result.Markdown(p.out))
	}
	return errors.Join(err, result.Text(p.out, p.columns()))
}

// columns is how wide the result may be.
func (p *program) columns() int {
	if terminal, on := p.voice.Terminal(); on && terminal.Width() > 0 {
		return terminal.Width()
	}
	return 100
}

func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
