package arena

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// dataCauses are what can be done to what a Redis server knows, by a command to the one that is written to.
func dataCauses(primary func() *servers.Redis) map[driver.Fault]Cause {
	command := func(loses bool, args ...string) Cause {
		return Cause{Loses: loses, Do: func(ctx context.Context, _ *Scene) error {
			_, err := primary().Do(ctx, args...)
			return err
		}}
	}
	return map[driver.Fault]Cause{
		driver.ScriptFlush:  command(false, "SCRIPT", "FLUSH"),
		driver.FunctionLoss: command(false, "FUNCTION", "FLUSH"),
		driver.ClientKill:   command(false, "CLIENT", "KILL", "SKIPME", "yes", "TYPE", "normal"),
		driver.Flush:        command(true, "FLUSHALL"),
		driver.DeleteKey: {Loses: true, Do: func(ctx context.Context, s *Scene) error {
			return deleteOne(ctx, primary(), s)
		}},
		driver.Evict: {Loses: true, Do: func(ctx context.Context, _ *Scene) error { return evictAll(ctx, primary()) }},
	}
}

// lockOnce locks and unlocks: when it returns the guard of a new server has passed, and a round does not begin with it.
func lockOnce(ctx context.Context, url string, ttl time.Duration) error {
	locks, err := holdfast.Open(ctx, url)
	if err != nil {
		return err
	}
	hold, err := locks.Mutex("first", holdfast.TTL(ttl)).Lock(ctx)
	if err == nil {
		err = hold.Unlock()
	}
	return errors.Join(err, locks.Close())
}

// stores are the keys in which a store keeps what it is.
var stores = []string{"holdfast:store", "holdfast:redlock:store"}

// lockKeys are those of locks.
func lockKeys(ctx context.Context, server *servers.Redis) ([]string, error) {
	answer, err := server.Do(ctx, "KEYS", "*")
	if err != nil {
		return nil, err
	}
	var keys []string
	all, _ := answer.([]any)
	for _, k := range all {
		if key, _ := k.(string); !slices.Contains(stores, key) && !strings.HasPrefix(key, filler) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// deleteOne deletes one of them.
func deleteOne(ctx context.Context, server *servers.Redis, s *Scene) error {
	keys, err := lockKeys(ctx, server)
	if err != nil || len(keys) == 0 {
		return err
	}
	_, err = server.Do(ctx, "DEL", keys[s.Random.IntN(len(keys))])
	return err
}

// filler begins the names of keys that fill the memory.
const filler = "filler:"

// evictAll makes the server throw out what it likes, and then gives it its memory back.
func evictAll(ctx context.Context, server *servers.Redis) error {
	info, err := server.Info(ctx, "memory")
	if err != nil {
		return err
	}
	used, err := strconv.ParseInt(info["used_memory"], 10, 64)
	if err != nil {
		return fmt.Errorf("used_memory: %w", err)
	}
	config := func(name, value string) error {
		_, err := server.Do(ctx, "CONFIG", "SET", name, value)
		return err
	}
	err = errors.Join(config("maxmemory-policy", "allkeys-random"), config("maxmemory", strconv.FormatInt(used/2, 10)))
	_, full := server.Do(ctx, "SET", filler+"1", "")
	if _, isAnswer := full.(servers.RedisError); isAnswer {
		full = nil // there was nothing more to throw out
	}
	return errors.Join(err, full, config("maxmemory", "0"), config("maxmemory-policy", "noeviction"))
}

// leftIn names keys, with the time that they will still live and what is in them.
func leftIn(ctx context.Context, server *servers.Redis) ([]string, error) {
	keys, err := lockKeys(ctx, server)
	secrets := regexp.MustCompile("[0-9a-f]{48}") // the ids of attempts, which are printed nowhere
	for i, key := range keys {
		left, err := server.Do(ctx, "PTTL", key)
		if err != nil {
			return nil, err
		}
		fields, err := server.Do(ctx, "HGETALL", key)
		if err != nil { // no hash
			if fields, err = server.Do(ctx, "GET", key); err != nil {
				fields = "" // no string either
			}
		}
		shown := secrets.ReplaceAllString(fmt.Sprint(fields), "…")
		keys[i] = fmt.Sprintf("%s (for %v ms, %.200q)", secrets.ReplaceAllString(key, "…"), left, shown)
	}
	return keys, err
}
