package arena

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast.dev"
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
		a.network, err = NewNetwork(server.Addr(), o.Processes)
	}
	if err == nil {
		err = a.beginGuard(ctx)
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

// beginGuard lets the guard of a new server pass, so that a round does not begin with it.
func (a *redisArena) beginGuard(ctx context.Context) error {
	locks, err := holdfast.Open(ctx, a.url(a.server.Addr()))
	if err != nil {
		return err
	}
	hold, err := locks.Mutex("first", holdfast.TTL(a.options.TTL)).Lock(ctx)
	if err == nil {
		err = hold.Unlock()
	}
	return errors.Join(err, locks.Close())
}

func (a *redisArena) Store(process int) string { return a.url(a.network[process].Addr()) }
func (a *redisArena) Versions() []string       { return []string{a.version} }
func (a *redisArena) Close() error             { return errors.Join(a.network.Close(), a.server.Close()) }

func (a *redisArena) Causes() map[driver.Fault]Cause {
	command := func(loses bool, args ...string) Cause {
		return Cause{Loses: loses, Do: func(ctx context.Context, _ *Scene) error {
			_, err := a.server.Do(ctx, args...)
			return err
		}}
	}
	return merge(processCauses(), a.network.Causes(), serverCauses(a.server.Server, a.guard()+time.Second, a.forget), map[driver.Fault]Cause{
		driver.ScriptFlush:  command(false, "SCRIPT", "FLUSH"),
		driver.FunctionLoss: command(false, "FUNCTION", "FLUSH"),
		driver.ClientKill:   command(false, "CLIENT", "KILL", "SKIPME", "yes", "TYPE", "normal"),
		driver.Flush:        command(true, "FLUSHALL"),
		driver.DeleteKey:    {Loses: true, Do: a.deleteKey},
		driver.Evict:        {Loses: true, Do: a.evict},
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

// keys are those of locks.
func (a *redisArena) keys(ctx context.Context) ([]string, error) {
	answer, err := a.server.Do(ctx, "KEYS", "*")
	if err != nil {
		return nil, err
	}
	var keys []string
	all, _ := answer.([]any)
	for _, k := range all {
		if key, _ := k.(string); key != "holdfast:store" && !strings.HasPrefix(key, filler) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

func (a *redisArena) deleteKey(ctx context.Context, s *Scene) error {
	keys, err := a.keys(ctx)
	if err != nil || len(keys) == 0 {
		return err
	}
	_, err = a.server.Do(ctx, "DEL", keys[s.Random.IntN(len(keys))])
	return err
}

// filler begins the names of keys that fill the memory.
const filler = "filler:"

// evict makes the server throw out what it likes, and then gives it its memory back.
func (a *redisArena) evict(ctx context.Context, _ *Scene) error {
	info, err := a.server.Info(ctx, "memory")
	if err != nil {
		return err
	}
	used, err := strconv.ParseInt(info["used_memory"], 10, 64)
	if err != nil {
		return fmt.Errorf("used_memory: %w", err)
	}
	config := func(name, value string) error {
		_, err := a.server.Do(ctx, "CONFIG", "SET", name, value)
		return err
	}
	err = errors.Join(config("maxmemory-policy", "allkeys-random"), config("maxmemory", strconv.FormatInt(used/2, 10)))
	_, full := a.server.Do(ctx, "SET", filler+"1", "")
	if _, isAnswer := full.(servers.RedisError); isAnswer {
		full = nil // there was nothing more to throw out
	}
	return errors.Join(err, full, config("maxmemory", "0"), config("maxmemory-policy", "noeviction"))
}

// Settle sets the clock right: what ends by it would otherwise stay for as long as it was set back.
func (a *redisArena) Settle(context.Context) error {
	if a.stepped >= 0 {
		return nil
	}
	return a.step(-a.stepped)
}

// Left names keys, with the time that they will still live and what is in them.
func (a *redisArena) Left(ctx context.Context) ([]string, error) {
	keys, err := a.keys(ctx)
	secrets := regexp.MustCompile("[0-9a-f]{48}") // the ids of attempts, which are printed nowhere
	for i, key := range keys {
		left, err := a.server.Do(ctx, "PTTL", key)
		if err != nil {
			return nil, err
		}
		fields, err := a.server.Do(ctx, "HGETALL", key)
		if err != nil {
			fields = "" // no hash
		}
		shown := secrets.ReplaceAllString(fmt.Sprint(fields), "…")
		keys[i] = fmt.Sprintf("%s (for %v ms, %.200q)", key, left, shown)
	}
	return keys, err
}
