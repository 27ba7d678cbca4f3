package main

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// The places of the subjects.
const (
	bare = iota
	flock
	holdfast
)

// A subject is a command that is measured.
type subject struct {
	name string
	path string
	args []string
	home string
}

// subjects returns the three, for a directory that takes the lock file and, as HOME, the program's own store.
func subjects(dir, program string) ([]subject, error) {
	work, err := exec.LookPath("true")
	if err != nil {
		return nil, err
	}
	rival, err := exec.LookPath("flock")
	if err != nil {
		return nil, fmt.Errorf("%w: install what has flock(1); in Debian that is util-linux", err)
	}
	return []subject{
		bare:     {"true", work, nil, dir},
		flock:    {"flock", rival, []string{filepath.Join(dir, "lock"), work}, dir},
		holdfast: {"holdfast", program, []string{"run", "x", "--", work}, dir},
	}, nil
}

// once runs the command and returns how long that took, from before its start until it was reaped.
func (s *subject) once(ctx context.Context) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, s.path, s.args...)
	cmd.Env = []string{"HOME=" + s.home, "PATH=/usr/bin:/bin"}
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", cmd, err)
	}
	return took, nil
}

// batch runs the subjects in turn, and each round begins with another one: what follows a slow one may find the caches cold. It
// returns their medians. The first round is thrown away.
func batch(ctx context.Context, all []subject, rounds int) ([]time.Duration, error) {
	times := make([][]time.Duration, len(all))
	for round := range rounds + 1 {
		for i := range all {
			n := (i + round) % len(all)
			took, err := all[n].once(ctx)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				times[n] = append(times[n], took)
			}
		}
	}
	medians := make([]time.Duration, len(all))
	for n := range all {
		medians[n] = median(times[n])
	}
	return medians, nil
}

// median is the middle one, the higher of two.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2fms", float64(d)/float64(time.Millisecond)) }
