package arena

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// redis is redis://, one server with its data on disk and a guard. A process has a way of its own to it.
func redis() Kind {
	return Kind{Name: "redis", Assumptions: redislock.Assumptions, Start: startRedis,
		Needs: map[string]string{"redis-server": "redis-server", "faketime": "faketime"}}
}

type redisArena struct {
	server  *servers.Redis
	network Network
	options Options
	version string
	stepped time.Duration // by which its clock is wrong
}

func startRedis(ctx context.Context, o Options) (Arena, error) {
	// What a process has written survives its kill without a sync, which a busy disk takes a second for.
	settings := []servers.RedisOption{servers.RedisSet("appendonly", "yes"), servers.RedisSet("appendfsync", "no")}
	if slices.Contains(o.Faults, driver.ClockBack) || slices.Contains(o.Faults, driver.ClockForward) {
		settings = append(settings, servers.RedisClock()) // it makes the server slower, so not always
	}
	server, err := servers.StartRedis(ctx, settings...)
	if err != nil {
		return nil, err
	}
	a := &redisArena{server: server, options: o}
	info, err := server.Info(ctx, "server")
	if err == nil {
		a.version = "redis " + info["redis_version"]
		a.network, err = NewNetwork(o.Processes, server.Addr())
	}
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return a, nil
}

// Logs is the end of the server's log.
func (a *redisArena) Logs() string { return a.server.Log() }

// Pulse asks the server something.
func (a *redisArena) Pulse(ctx context.Context) error {
	_, err := a.server.Do(ctx, "PING")
	return err
}

// guard must not be shorter than a TTL.
func (a *redisArena) guard() time.Duration { return a.options.TTL * 3 / 2 }

func (a *redisArena) url(addr string) string {
	return fmt.Sprintf("redis://%s?guard=%v&claim=%v&timeout=%v", addr, a.guard(), a.options.TTL/2, max(a.options.TTL, time.Second))
}

// Warm lets the guard of a new server pass.
func (a *redisArena) Warm(ctx context.Context) error {
	return lockOnce(ctx, a.url(a.server.Addr()), a.options.TTL)
}

func (a *redisArena) Store(process int) string { return a.url(a.network[process].Addr()) }
func (a *redisArena) Versions() []string       { return []string{a.version} }
func (a *redisArena) Close() error             { return errors.Join(a.network.Close(), a.server.Close()) }

func (a *redisArena) Causes() map[driver.Fault]Cause {
	primary := func() *servers.Redis { return a.server }
	return merge(processCauses(), a.network.Causes(), serverCauses(a.server.Server, a.guard()+time.Second, a.forget), dataCauses(primary), map[driver.Fault]Cause{
		driver.ClockBack: {Do: func(_ context.Context, s *Scene) error {
			return a.step(-time.Duration(1+s.Random.IntN(120)) * time.Second)
		}},
		driver.ClockForward: {Loses: true, Do: func(_ context.Context, s *Scene) error {
			return a.step(a.options.TTL + time.Duration(s.Random.IntN(60))*time.Second)
		}},
	})
}

func (a *redisArena) step(d time.Duration) error {
	a.stepped += d
	return a.server.StepClock(d)
}

// forget removes what the server has on disk. It does not run.
func (a *redisArena) forget() error {
	return os.RemoveAll(filepath.Join(a.server.Dir(), "appendonlydir"))
}

// Settle sets the clock right: what ends by it would otherwise stay for as long as it was set back.
func (a *redisArena) Settle(context.Context) error {
	if a.stepped >= 0 {
		return nil
	}
	return a.step(-a.stepped)
}

// Left names keys.
func (a *redisArena) Left(ctx context.Context) ([]string, error) { return leftIn(ctx, a.server) }
