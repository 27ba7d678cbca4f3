package servers_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"holdfast.dev/locktest/servers"
)

// A server that keeps its data is killed and started again.
func ExampleStartRedis() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	redis, err := servers.StartRedis(ctx, servers.RedisSet("appendonly", "yes"), servers.RedisSet("appendfsync", "always"))
	if err != nil {
		log.Fatal(err) // errors.Is(err, servers.ErrMissing): it names the package to install
	}
	defer redis.Close()
	if _, err := redis.Do(ctx, "SET", "key", "value"); err != nil {
		log.Fatal(err)
	}
	redis.Kill()
	if err := redis.Restart(ctx); err != nil {
		log.Fatal(err)
	}
	value, err := redis.Do(ctx, "GET", "key")
	fmt.Println(value, err)
}

// The clock of a server jumps while its clients' goes on.
func ExampleServer_StepClock() {
	ctx := context.Background()
	redis, err := servers.StartRedis(ctx, servers.RedisClock())
	if err != nil {
		log.Fatal(err)
	}
	defer redis.Close()
	redis.Do(ctx, "SET", "lock", "mine", "PX", "10000")
	if err := redis.StepClock(time.Minute); err != nil {
		log.Fatal(err)
	}
	value, err := redis.Do(ctx, "GET", "lock")
	fmt.Println(value, err) // it has run out
}

// A primary is killed, and Sentinels put its replica in its place.
func ExampleStartSentinel() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	primary, err := servers.StartRedis(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer primary.Close()
	replica, err := servers.StartRedis(ctx, servers.RedisReplicaOf(primary))
	if err != nil {
		log.Fatal(err)
	}
	defer replica.Close()
	var sentinels []*servers.Sentinel
	for range 3 {
		s, err := servers.StartSentinel(ctx, "orders", primary)
		if err != nil {
			log.Fatal(err)
		}
		defer s.Close()
		sentinels = append(sentinels, s)
	}
	for _, s := range sentinels {
		if err := s.Knows(ctx, 1, 2); err != nil { // one replica, two other Sentinels
			log.Fatal(err)
		}
	}
	primary.Kill()
	addr, err := sentinels[0].NewPrimary(ctx, primary.Addr())
	fmt.Println(addr, err)
}
