package arena

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// processCauses are what can be done to the processes of any store.
func processCauses() map[driver.Fault]Cause {
	return map[driver.Fault]Cause{
		driver.WorkerStop: {Do: func(ctx context.Context, s *Scene) error {
			goOn := s.Workers.Stop(s.Process())
			defer goOn()
			return s.Pass(ctx, s.Between(0.5, 3))
		}},
		driver.WorkerStopInside: {Do: func(ctx context.Context, s *Scene) error {
			length := s.Between(0.5, 3)
			soon, cancel := context.WithTimeout(ctx, 3*s.TTL+time.Second) // perhaps nobody can get a lock just now
			defer cancel()
			goOn, err := s.Workers.StopInside(soon)
			if err != nil {
				return err
			}
			defer goOn()
			return s.Pass(ctx, length)
		}},
		driver.WorkerStopWrite: {Do: func(ctx context.Context, s *Scene) error {
			soon, cancel := context.WithTimeout(ctx, 4*s.TTL+time.Second)
			defer cancel()
			return s.Workers.StopWriting(soon, history.Read)
		}},
		driver.WorkerKill: {Do: func(_ context.Context, s *Scene) error {
			for range 1 + s.Random.IntN(2) {
				s.Workers.Kill(s.Process())
			}
			return nil
		}},
		driver.Starve: {Do: func(ctx context.Context, s *Scene) error {
			length := s.Between(1, 2)
			end, err := s.Workers.Burn(ctx, 2*runtime.NumCPU())
			if err != nil {
				return err
			}
			defer end()
			return s.Pass(ctx, length)
		}},
		driver.BreakNow: {Loses: true, Do: func(ctx context.Context, s *Scene) error {
			for range 3 {
				s.Workers.Tell(s.Process(), fmt.Sprintf("break %d", s.Random.IntN(len(s.Locks))))
				if err := s.Pass(ctx, s.Between(0, 0.2)); err != nil {
					return err
				}
			}
			return s.Pass(ctx, s.TTL) // whoever was told to break does it within a TTL, or not at all
		}},
	}
}

// only returns the causes of some faults.
func only(causes map[driver.Fault]Cause, faults ...driver.Fault) map[driver.Fault]Cause {
	chosen := make(map[driver.Fault]Cause)
	for _, f := range faults {
		chosen[f] = causes[f]
	}
	return chosen
}

// merge joins what can be done; of two causes of one fault the later counts.
func merge(all ...map[driver.Fault]Cause) map[driver.Fault]Cause {
	merged := make(map[driver.Fault]Cause)
	for _, causes := range all {
		maps.Copy(merged, causes)
	}
	return merged
}

// Together reports whether two faults can be caused at once: something that happens to workers, and something else that happens to them,
// to the network or to a server. Two that happen to the same server would be in each other's way.
func Together(a, b driver.Fault) bool {
	workers := []driver.Fault{driver.WorkerStop, driver.WorkerStopInside, driver.WorkerStopWrite, driver.WorkerKill, driver.Starve}
	return a != b && (slices.Contains(workers, a) || slices.Contains(workers, b))
}
