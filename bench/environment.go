package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/measure"
	"holdfast.dev/bench/internal/result"
	"holdfast.dev/locktest/servers"
)

// A server is the one under test.
type server struct {
	addr  string
	probe *measure.Probe
	own   *servers.Redis // nil if it was there before
}

// connect uses the server at addr, or starts one if that is empty.
func connect(ctx context.Context, addr string) (*server, error) {
	s := &server{addr: addr}
	if addr == "" {
		// A thousand goroutines with a connection each, and then some.
		own, err := servers.StartRedis(ctx, servers.RedisSet("maxclients", "4000"))
		if err != nil {
			return nil, err
		}
		s.own, s.addr = own, own.Addr()
	}
	probe, err := measure.NewProbe(s.addr)
	if err != nil {
		s.close()
		return nil, err
	}
	s.probe = probe
	return s, nil
}

func (s *server) close() {
	if s.probe != nil {
		s.probe.Close()
	}
	if s.own != nil {
		s.own.Close()
	}
}

// machine describes this one, as far as it is known here.
func machine() result.Machine {
	m := result.Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.NumCPU(), Go: runtime.Version()}
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

// libraries returns the versions of what the contenders come from, as they are built into this program.
func libraries(contenders []contender.Contender) map[string]string {
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
