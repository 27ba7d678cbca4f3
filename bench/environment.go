package main

import (
	"context"

	"holdfast.dev/bench/internal/deployment"
	"holdfast.dev/bench/internal/measure"
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
