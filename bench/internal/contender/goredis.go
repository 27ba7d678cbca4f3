package contender

import (
	"strings"

	"github.com/redis/go-redis/v9"
)

// dialAll opens a client for each server of an address.
func dialAll(addr string, roomy bool, goroutines int) []*redis.Client {
	var clients []*redis.Client
	for each := range strings.SplitSeq(addr, ",") {
		clients = append(clients, dialGoRedis(each, roomy, goroutines))
	}
	return clients
}

// dialGoRedis opens the client that redsync and bsm/redislock document. It connects when it is first used.
//
// Its pool has ten connections for each processor by default; who asks for an eleventh waits. roomy gives every goroutine a
// connection, as PoolSize is there for, and keeps them open.
func dialGoRedis(addr string, roomy bool, goroutines int) *redis.Client {
	options := &redis.Options{Addr: addr}
	if roomy {
		options.PoolSize = max(goroutines, 10)
		options.MaxIdleConns = options.PoolSize
	}
	return redis.NewClient(options)
}
