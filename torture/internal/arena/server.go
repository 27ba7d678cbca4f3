package arena

import (
	"context"
	"errors"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// serverCauses are what can be done to any server. forget removes what it has on disk; guard is how long it then grants nothing.
func serverCauses(server *servers.Server, guard time.Duration, forget func() error) map[driver.Fault]Cause {
	return map[driver.Fault]Cause{
		driver.ServerKill: {Heals: guard, Do: func(ctx context.Context, s *Scene) error {
			length := restartAfter(s)
			server.Kill()
			return errors.Join(s.Pass(ctx, length), server.Restart(ctx))
		}},
		driver.ServerForget: {Heals: guard, Do: func(ctx context.Context, s *Scene) error {
			length := restartAfter(s)
			server.Kill()
			return errors.Join(forget(), s.Pass(ctx, length), server.Restart(ctx))
		}},
		driver.ServerStop: {Do: func(ctx context.Context, s *Scene) error {
			length := s.Between(0.3, 2.5)
			if err := server.Stop(); err != nil {
				return err
			}
			err := s.Pass(ctx, length)
			return errors.Join(err, server.Continue(), server.Ready(ctx))
		}},
	}
}

// restartAfter is nothing, less than a TTL, or more.
func restartAfter(s *Scene) time.Duration {
	switch s.Random.IntN(3) {
	case 0:
		return 0
	case 1:
		return s.Between(0.1, 0.9)
	}
	return s.Between(1.1, 1.6)
}
