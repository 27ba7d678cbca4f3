package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/deployment"
	"holdfast.dev/bench/internal/measure"
	"holdfast.dev/bench/internal/result"
	"holdfast.dev/locktest/servers"
)

// A server is the one under test.
type server struct {
	addr  string
	probe *measure.Probe
	own   *deployment.Deployment // nil if it was there before
}

// connect uses the server at addr, or starts one if that is empty.
func connect(ctx context.Context, addr string) (*server, error) {
	s := &server{addr: addr}
	if addr == "" {
		// A thousand goroutines with a connection each, and then some.
		if err := s.start(ctx, deployment.Settings{Nodes: 1, More: []servers.RedisOption{servers.RedisSet("maxclients", "4000")}}); err != nil {
			return nil, err
		}
	}
	return s, s.ask()
}

// connectReplicated starts a primary with a replica.
func connectReplicated(ctx context.Context) (*server, error) {
	s := new(server)
	if err := s.start(ctx, deployment.Settings{Nodes: 2}); err != nil {
		return nil, err
	}
	return s, s.ask()
}

func (s *server) start(ctx context.Context, settings deployment.Settings) error {
	own, err := deployment.Start(ctx, settings)
	if err != nil {
		return err
	}
	s.own, s.addr = own, own.Primary().Addr()
	return nil
}

// ask opens the probe.
func (s *server) ask() error {
	probe, err := measure.NewProbe(s.addr)
	if err != nil {
		s.close()
		return err
	}
	s.probe = probe
	return nil
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
