package result

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"holdfast.dev/bench/internal/contender"
)

// ThisMachine describes the one that this runs on, as far as is known.
func ThisMachine() Machine {
	m := Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.NumCPU(), Go: runtime.Version()}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
				m.Model = strings.TrimSpace(value)
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) >= 3 {
			m.Load = strings.Join(fields[:3], " ")
		}
	}
	return m
}

// Versions returns the versions of what the contenders come from, as they are built into this program.
func Versions(contenders []contender.Contender) map[string]string {
	versions := make(map[string]string)
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versions
	}
	for _, c := range contenders {
		for _, dep := range info.Deps {
			if dep.Path == c.Module {
				versions[c.Module] = dep.Version
			}
		}
	}
	return versions
}
