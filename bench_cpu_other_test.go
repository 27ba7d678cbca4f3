//go:build !linux && !darwin

package holdfast_test

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// processorTime is what this process has used so far, of all processors, as the runtime estimates it at each garbage collection. On
// a busy machine that is too much.
func processorTime() time.Duration {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(sample)
	return time.Duration((sample[0].Value.Float64() - sample[1].Value.Float64()) * float64(time.Second))
}
