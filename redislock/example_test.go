package redislock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev"
	"holdfast.dev/redislock"
)

// Importing this package is enough for holdfast.Open to know redis:// and rediss://.
func Example() {
	ctx := context.Background()
	locks, err := holdfast.Open(ctx, "redis://127.0.0.1:6379?ttl=15s")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	err = locks.Do(ctx, "nightly-email", func(ctx context.Context) error {
		return send(ctx, holdfast.Token(ctx)) // ctx ends before anybody else can have the lock
	})
	fmt.Println(err)
}

// A program that has a rueidis client already uses it for locks, too. Close leaves the client open.
func ExampleNew() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	locks := holdfast.New(redislock.New(client, redislock.Prefix("shop:"), redislock.Guard(time.Minute)))
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

// send stands for work that hands its token on, so that the resource can refuse an older one.
func send(_ context.Context, token uint64) error {
	fmt.Println("sent with token", token)
	return nil
}
