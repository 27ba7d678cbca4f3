// Command bench measures what holdfast run costs: the wall time of "holdfast run x -- true" against that of "flock f true", and of
// "true" alone.
//
//	go run ./cmd/holdfast/bench
//
// It builds the program, with all its drivers, as users have it, and starts the three in turn, thousands of times: whatever else the
// machine does meanwhile then slows all of them. Not all alike: holdfast run is two processes with several threads each, and suffers
// more from a busy machine than flock does, so measure on a quiet one. It prints the medians of each batch of rounds, and their ratio. It ends with
// code 1 if the median ratio is above the bar. It is no test: a noisy machine must not fail a change.
//
// The store is a directory of its own below -dir. A run makes five files there and removes them, which flock does not, so the file
// system counts: ext4 without a journal, for one, becomes ten times slower at making files for a minute after many were removed. To
// leave it out of the measurement, name a directory in memory.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

func main() {
	var o options
	flag.IntVar(&o.batches, "batches", 7, "batches of rounds; each gives one ratio")
	flag.IntVar(&o.rounds, "rounds", 150, "rounds of a batch; in each every command runs once")
	flag.Float64Var(&o.bar, "bar", 3, "the highest ratio to flock that is good enough")
	flag.StringVar(&o.dir, "dir", "", "where the lock file and the store are made, instead of the directory for temporary files")
	flag.StringVar(&o.program, "program", "", "a holdfast that is built already")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	batches, rounds int
	bar             float64
	program, dir    string
}

// run is everything but the exit status.
func run(ctx context.Context, o options, out io.Writer) error {
	if o.batches < 1 || o.rounds < 1 {
		return fmt.Errorf("-batches %d -rounds %d: both must be 1 at least", o.batches, o.rounds)
	}
	if o.program == "" {
		dir, err := os.MkdirTemp("", "holdfast-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if o.program, err = build(ctx, dir); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp(o.dir, "holdfast-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all, err := subjects(dir, o.program)
	if err != nil {
		return err
	}
	var ratios []float64
	fmt.Fprintf(out, "%8s %8s %8s %8s\n", all[bare].name, all[flock].name, all[holdfast].name, "ratio")
	for range o.batches {
		medians, err := batch(ctx, all, o.rounds)
		if err != nil {
			return err
		}
		ratio := float64(medians[holdfast]) / float64(medians[flock])
		ratios = append(ratios, ratio)
		fmt.Fprintf(out, "%8s %8s %8s %8.2f\n", ms(medians[bare]), ms(medians[flock]), ms(medians[holdfast]), ratio)
	}
	ratio := median(ratios)
	fmt.Fprintf(out, "holdfast run takes %.2f times as long as flock (median of %d batches of %d rounds; the bar is %g)\n",
		ratio, o.batches, o.rounds, o.bar)
	if ratio > o.bar {
		return fmt.Errorf("%.2f is above the bar of %g: look where the time goes with strace -c -f and GODEBUG=inittrace=1", ratio, o.bar)
	}
	return nil
}

// build builds the program, as the README does.
func build(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "holdfast")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "holdfast.dev/cmd/holdfast")
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build (run it inside the repository): %w", err)
	}
	return program, nil
}
