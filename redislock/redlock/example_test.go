package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev"
	"holdfast.dev/redislock/redlock"
)

// Importing this package is enough for holdfast.Open to know redlock://.
func Example() {
	ctx := context.Background()
	locks, err := holdfast.Open(ctx, "redlock://r1.example.com,r2.example.com,r3.example.com?ttl=15s")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	err = locks.Do(ctx, "nightly-email", func(ctx context.Context) error {
		return send(ctx, holdfast.Token(ctx)) // ctx ends before anybody else can have the lock
	})
	fmt.Println(err)
}

// Nodes that are reached in different ways have a URL each. It stands inside another one, so that its +, & and @ are written %2B, %26 and %40.
func Example_nodes() {
	ctx := context.Background()
	locks, err := holdfast.Open(ctx, "redlock://?node=rediss://r1.example.com:6380"+
		"&node=redis://locks:secret%40r2.example.com"+
		"&node=redis%2Bsentinel://s1.example.com,s2.example.com,s3.example.com/mymaster?name=r3")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	for _, text := range locks.Warnings() {
		log.Print(text) // that the number of nodes is even, for instance
	}
}

// A program that has rueidis clients already, one for each server, uses them for locks, too. Close leaves them open.
func ExampleNew() {
	var clients []rueidis.Client
	for _, address := range []string{"r1.example.com:6379", "r2.example.com:6379", "r3.example.com:6379"} {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}})
		if err != nil {
			log.Fatal(err) // rueidis wants to reach it now; a store that is opened by a URL needs a majority only
		}
		defer client.Close()
		clients = append(clients, client)
	}
	locks := holdfast.New(redlock.New(clients, redlock.Prefix("shop:"), redlock.Guard(time.Minute)))
	defer locks.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // bounds the wait
	defer cancel()
	hold, err := locks.Mutex("orders/42").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()
	fmt.Println("token", hold.Token())
}

// Where nothing can refuse an outdated token anyway, a lock is cheaper without: one round trip instead of two.
func ExampleWithoutTokens() {
	ctx := context.Background()
	locks, err := holdfast.Open(ctx, "redlock://r1.example.com,r2.example.com,r3.example.com?tokens=off")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	hold, err := locks.Mutex("cache/warm-up").TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()
	fmt.Println("token", hold.Token()) // 0
}

// When no majority could be had the error has what each node said.
func ExampleNodesError() {
	err := error(&redlock.NodesError{Need: 2, Nodes: []redlock.NodeState{
		{Node: "r1:6379", Says: "no answer within 50ms", Err: os.ErrDeadlineExceeded},
		{Node: "r2:6379", Says: "guarded for another 12s"},
		{Node: "r3:6379", Says: "no answer within 50ms", Err: os.ErrDeadlineExceeded},
	}})
	if nodes, ok := errors.AsType[*redlock.NodesError](err); ok {
		for _, n := range nodes.Nodes {
			fmt.Printf("%s: %s\n", n.Node, n.Says)
		}
	}
	fmt.Println(errors.Is(err, os.ErrDeadlineExceeded))
	// Output:
	// r1:6379: no answer within 50ms
	// r2:6379: guarded for another 12s
	// r3:6379: no answer within 50ms
	// true
}

// send stands for work that hands its token on, so that the resource can refuse an older one.
func send(_ context.Context, token uint64) error {
	fmt.Println("sent with token", token)
	return nil
}
