package redisconn_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/redisconn"
)

func ExampleOptions() {
	u, err := driver.ParseURL("redis://app:secret@[::1]/2?timeout=2s&prefix=locks")
	if err != nil {
		panic(err)
	}
	o, err := redisconn.Options(u, "prefix")
	fmt.Println(o.InitAddress, o.SelectDB, o.ConnWriteTimeout, err)

	u, _ = driver.ParseURL("redis://localhost?ca=ca.pem")
	_, err = redisconn.Options(u)
	fmt.Println(err)
	// Output:
	// [[::1]:6379] 2 2s <nil>
	// not a usable store URL (redis://…): parameter "ca": is for TLS; write rediss:// instead of redis://, or leave it out
}

func ExampleOptions_sentinel() {
	u, err := driver.ParseURL("redis+sentinel://app:secret@s1,s2,s3:26380/mymaster/2?sentinel-password=secret&nat=10.0.0.1:6379=localhost:7001")
	if err != nil {
		panic(err)
	}
	o, err := redisconn.Options(u)
	fmt.Println(o, o.SelectDB, err)
	// Output:
	// "mymaster" of the Sentinels ["s1:26379" "s2:26379" "s3:26380"] 2 <nil>
}

// How a driver finds out what a deployment is.
func ExampleNodes() {
	describe := func(ctx context.Context, c rueidis.Client) error {
		nodes, err := redisconn.Nodes(ctx, c)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if n.Err != nil {
				return fmt.Errorf("%s: %w", n.Addr, n.Err)
			}
			fmt.Println(n.Addr, n.Info["role"], n.MinReplicas, n.MaxLag, n.Policy)
		}
		return nil
	}
	_ = describe
}

// How a driver uses the parts together.
func Example() {
	open := func(ctx context.Context, u *driver.URL) error {
		o, err := redisconn.Options(u)
		if err != nil {
			return err
		}
		c, err := redisconn.Dial(ctx, o)
		if err != nil {
			return err
		}
		defer c.Close()
		library := &redisconn.Library{Name: "hello_1", Code: "#!lua name=hello_1\n…"}
		if err := library.Load(ctx, c); errors.Is(err, redisconn.ErrReplaced) {
			return err
		}
		inbox := redisconn.OpenInbox(c, "hello:inbox", redisconn.Events{Message: func(text string) { fmt.Println(text) }})
		defer inbox.Close()
		if err := inbox.Await(ctx); err != nil {
			return err
		}
		_, err = library.Call(ctx, c, "hello", []string{"key"}, []string{"argument"})
		return err
	}
	u, _ := driver.ParseURL("redis://localhost/first")
	fmt.Println(open(context.Background(), u))
	// Output:
	// not a usable store URL (redis://…): its path is the number of a database; write /0, or leave it out
}
