package contender

import (
	"context"
	"fmt"
	"strings"
	"time"

	_ "holdfast.dev/redislock/redlock" // redlock://
)

// Majorities returns the contenders for locks that are kept in a majority of independent servers: the limit, ours with tokens, without, and on
// servers without functions, and redsync, the library for Go that others are measured by. pause is as in [All]; guard is that of our nodes, 0: none.
func Majorities(pause, guard time.Duration) []Contender {
	return []Contender{limitOfMajority(), oursOfMajority(guard), untokened(guard), plain(), redsyncDefault(), redsyncFastest(pause)}
}

// oursOfMajority is Holdfast with its defaults, on nodes that have been up for longer than the guard.
func oursOfMajority(guard time.Duration) Contender {
	return Contender{
		Name: "holdfast", Role: Ours, Module: "holdfast.dev/redislock",
		Settings: fmt.Sprintf("the defaults; the guard is %v", guard),
		Open: func(ctx context.Context, addr string, _ int) (Client, error) {
			return openGuarded(ctx, majorityURL(addr, guard))
		},
	}
}

// untokened is ours without what the peers do not have either.
func untokened(guard time.Duration) Contender {
	return Contender{
		Name: "holdfast-no-tokens", Role: Untokened, Module: "holdfast.dev/redislock",
		Settings: fmt.Sprintf("tokens=off; the guard is %v", guard),
		Open: func(ctx context.Context, addr string, _ int) (Client, error) {
			return openGuarded(ctx, majorityURL(addr, guard)+"&tokens=off")
		},
	}
}

// plain is ours on servers that have no functions: it sends what the peers send, and promises what they promise.
func plain() Contender {
	return Contender{
		Name: "holdfast-plain", Role: Plain, Module: "holdfast.dev/redislock",
		Settings: "on servers without functions: no tokens, no guard, nobody is told of a release",
		Direct:   []string{"set"},
		Open: func(ctx context.Context, addr string, _ int) (Client, error) {
			return openGuarded(ctx, majorityURL(addr, 0))
		},
	}
}

// majorityURL names the nodes. They have names of their own, because some clients reach them directly and others from far away; and
// each number of nodes is a store of its own on the same servers, because a node keeps to one list.
func majorityURL(addr string, guard time.Duration) string {
	nodes := strings.Split(addr, ",")
	url := fmt.Sprintf("redlock://?prefix=of%d:&guard=%v", len(nodes), guard)
	for i, node := range nodes {
		url += fmt.Sprintf("&node=redis://%s?name=n%d", node, i+1)
	}
	return url
}
