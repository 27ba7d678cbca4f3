package filelock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/filelock"
)

// newDirectory is where the examples keep their locks. A program would name one below /var/lib, or in its user's home.
func newDirectory() (path string, remove func()) {
	parent, err := os.MkdirTemp("", "holdfast")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(parent, "locks"), func() { os.RemoveAll(parent) }
}

// Locks between the processes of one machine, with nothing installed.
func Example() {
	dir, remove := newDirectory()
	defer remove()
	ctx := context.Background()

	locks, err := holdfast.Open(ctx, filelock.URL(dir))
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	err = locks.Do(ctx, "nightly report", func(ctx context.Context) error {
		fmt.Println("no other process is here")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: no other process is here
}

// The URL of a directory that the program finds out when it runs. Open makes it, and the directories above it, if they do not exist.
func ExampleURL() {
	fmt.Println(filelock.URL("/var/lib/my shop/locks"))
	// Output: file:///var/lib/my%20shop/locks
}

// A store that is opened by hand, with a client of the core on it.
func ExampleOpen() {
	dir, remove := newDirectory()
	defer remove()
	ctx := context.Background()

	store, err := filelock.Open(ctx, dir)
	if err != nil {
		log.Fatal(err)
	}
	locks := holdfast.New(store)
	defer locks.Close()
	hold, err := locks.Mutex("orders/42").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("token", hold.Token())
	fmt.Println(hold.Unlock())
	// Output:
	// token 1
	// <nil>
}

// A directory that cannot be relied on is refused.
func ExampleOpen_refused() {
	dir, remove := newDirectory()
	defer remove()
	if err := os.MkdirAll(filepath.Join(dir, "something else"), 0o700); err != nil {
		log.Fatal(err)
	}
	_, err := filelock.Open(context.Background(), dir)
	var refused *driver.Refused
	fmt.Println(errors.As(err, &refused))
	// Output: true
}

// A store that polls, as all do elsewhere than on Linux: the rules are the same.
func ExamplePolling() {
	dir, remove := newDirectory()
	defer remove()
	store, err := filelock.Open(context.Background(), dir, filelock.Polling())
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	g, err := store.Guarantees(context.Background())
	fmt.Println("first come first served:", g.FIFO, err)
	// Output: first come first served: true <nil>
}

// AllowNetwork changes nothing on a local disk.
func ExampleAllowNetwork() {
	dir, remove := newDirectory()
	defer remove()
	store, err := filelock.Open(context.Background(), dir, filelock.AllowNetwork())
	fmt.Println(err)
	if err == nil {
		store.Close()
	}
	// Output: <nil>
}

// Everything that somebody holds or waits for can be seen by every process of the same user.
func ExampleStore_List() {
	dir, remove := newDirectory()
	defer remove()
	ctx := context.Background()
	mine, err := filelock.Open(ctx, dir)
	if err != nil {
		log.Fatal(err)
	}
	defer mine.Close()
	r := &driver.Request{Name: "orders/42", Attempt: driver.NewAttempts().Next(), Label: "billing", Mode: driver.Exclusive, TTL: time.Minute}
	if _, err := mine.Acquire(ctx, r); err != nil {
		log.Fatal(err)
	}

	others, err := filelock.Open(ctx, dir)
	if err != nil {
		log.Fatal(err)
	}
	defer others.Close()
	for info, err := range others.List(ctx, "orders/") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(info.Name, "is held by", info.Holders[0].Label)
	}
	// Output: orders/42 is held by billing
}

// Exactly one hold is ended, whoever's it is.
func ExampleStore_Break() {
	dir, remove := newDirectory()
	defer remove()
	ctx := context.Background()
	store, err := filelock.Open(ctx, dir)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	told := make(chan error, 1)
	r := &driver.Request{
		Name: "orders/42", Attempt: driver.NewAttempts().Next(), Mode: driver.Exclusive, TTL: time.Minute,
		Lost: func(err error) { told <- err },
	}
	grant, err := store.Acquire(ctx, r)
	if err != nil {
		log.Fatal(err)
	}
	err = store.Break(ctx, &driver.BreakRequest{Name: "orders/42", Token: grant.Token, Now: true, By: "ops"})
	fmt.Println(err)
	fmt.Println(<-told)
	// Output:
	// <nil>
	// the hold was broken by "ops"
}
