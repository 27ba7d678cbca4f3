package remote_test

import (
	"context"
	"fmt"
	"net"
	"sync"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/locktest/remote"
	"holdfast.dev/memlock"
)

// The test of a program that takes its store as a URL: it serves a store, and gives the program the URL, with a password that must
// not turn up anywhere.
func ExampleOpen() {
	registered.Do(func() { driver.Register(remote.Scheme, remote.Open) }) // in a real test: in TestMain

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error)
	go func() { served <- remote.Serve(listener, memlock.New()) }()

	ctx := context.Background()
	locks, err := holdfast.Open(ctx, remote.Scheme+"://me:secret@"+listener.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	err = locks.Do(ctx, "report", func(ctx context.Context) error {
		fmt.Println("token", holdfast.Token(ctx))
		return nil
	})
	fmt.Println(err, locks.Close())

	listener.Close()
	fmt.Println(<-served)
	// Output:
	// token 1
	// <nil> <nil>
	// <nil>
}

var registered sync.Once
