package arena

import (
	"context"
	"fmt"
	"sync/atomic"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// memory is mem://. All clients are in one process with it, and what is left in it the process itself says at its end.
func memory() Kind {
	return Kind{Name: "memory", Assumptions: memlock.Assumptions, OneProcess: true,
		Start: func(context.Context, Options) (Arena, error) {
			return &memoryArena{name: fmt.Sprintf("mem://torture-%d", memories.Add(1))}, nil
		}}
}

var memories atomic.Int64

type memoryArena struct{ name string }

func (a *memoryArena) Store(int) string                       { return a.name }
func (a *memoryArena) Settle(context.Context) error           { return nil }
func (a *memoryArena) Left(context.Context) ([]string, error) { return nil, nil }
func (a *memoryArena) Versions() []string                     { return nil }
func (a *memoryArena) Close() error                           { return nil }

func (a *memoryArena) Causes() map[driver.Fault]Cause {
	return only(processCauses(), driver.WorkerStop, driver.WorkerStopInside, driver.Starve, driver.BreakNow)
}
