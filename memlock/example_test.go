package memlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// A store of its own, for one test or one program.
func ExampleNew() {
	store := memlock.New()
	defer store.Close()
	g, _ := store.Guarantees(context.Background())
	fmt.Println(store, g.Fencing, g.FIFO)
	// Output: mem:// volatile true
}

// Two clients of one server exclude each other.
func ExampleServer_Connect() {
	ctx := context.Background()
	server := memlock.NewServer()
	one, two := server.Connect(), server.Connect()
	defer one.Close()
	defer two.Close()

	attempts := driver.NewAttempts() // a client has one for all its requests
	request := func(label string) *driver.Request {
		return &driver.Request{
			Name: "orders/42", Attempt: attempts.Next(), Label: label, Mode: driver.Exclusive, TTL: time.Minute, NoWait: true,
		}
	}
	first, second := request("the first"), request("the second")
	grant, err := one.Acquire(ctx, first)
	fmt.Println("token", grant.Token, err)

	_, err = two.Acquire(ctx, second)
	var held *driver.Held
	fmt.Println(errors.As(err, &held), held.Holders[0].Label)

	fmt.Println(one.Release(ctx, first))
	grant, err = two.Acquire(ctx, second)
	fmt.Println("token", grant.Token, err)
	// Output:
	// token 1 <nil>
	// true the first
	// <nil>
	// token 2 <nil>
}

// Everybody who opens mem://NAME in a process shares its locks.
func ExampleOpen() {
	ctx := context.Background()
	u, err := driver.ParseURL("mem://billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	one, _ := memlock.Open(ctx, u)
	two, _ := memlock.Open(ctx, u)
	defer one.Close()
	defer two.Close()
	a, _ := one.Identity(ctx)
	b, _ := two.Identity(ctx)
	fmt.Println(one, a == b)

	u, _ = driver.ParseURL("mem://billing:6379")
	_, err = memlock.Open(ctx, u)
	fmt.Println(err)
	// Output:
	// mem://billing true
	// not a usable store URL (mem://…): what follows mem:// is a name and not an address, so it has no port; write mem:// or mem://NAME
}

// Who holds, who waits, and how to end a hold that its owner does not end.
func ExampleStore_Break() {
	ctx := context.Background()
	store := memlock.New()
	defer store.Close()
	r := &driver.Request{
		Name: "report", Attempt: driver.NewAttempts().Next(), Label: "web-1:4711", Mode: driver.Exclusive, TTL: time.Minute,
		Lost: func(err error) { fmt.Println("web-1 is told:", err) },
	}
	if _, err := store.Acquire(ctx, r); err != nil {
		fmt.Println(err)
		return
	}
	for info, err := range store.List(ctx, "") {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, h := range info.Holders {
			fmt.Println(info.Name, "is held by", h.Label, "with token", h.Token)
			err := store.Break(ctx, &driver.BreakRequest{Name: info.Name, Token: h.Token, By: "ops", Now: true})
			fmt.Println("break:", err)
		}
	}
	// Output:
	// report is held by web-1:4711 with token 1
	// web-1 is told: the hold was broken by "ops"
	// break: <nil>
}

// A server can have another clock than package time: that of the machine since it was started, for instance, which goes on through a
// suspend.
func ExampleWithClock() {
	server := memlock.NewServer(memlock.WithClock(driver.Boot()))
	store := server.Connect()
	defer store.Close()
	fmt.Println(store.Clock() == driver.Boot())
	// Output: true
}

// What the core says to a driver: an attempt asks, holds, and is released.
func ExampleStore_Acquire() {
	ctx := context.Background()
	store := memlock.New()
	defer store.Close()
	attempts := driver.NewAttempts()
	mine := &driver.Request{Name: "a", Mode: driver.Exclusive, Attempt: attempts.Next(), Label: "mine", TTL: time.Minute}
	other := &driver.Request{Name: "a", Mode: driver.Exclusive, Attempt: attempts.Next(), TTL: time.Minute, NoWait: true}

	grant, err := store.Acquire(ctx, mine)
	fmt.Println(grant.Token, err)
	again, _ := store.Acquire(ctx, mine) // the answer was lost: ask again
	fmt.Println(again.Token)
	_, err = store.Acquire(ctx, other)
	fmt.Println(driver.Answered(err))
	info, _ := store.Inspect(ctx, "a", driver.Exclusive)
	fmt.Println(info.Holders[0].Label)
	fmt.Println(store.Release(ctx, other), store.Release(ctx, mine))
	// Output:
	// 1 <nil>
	// 1
	// true
	// mine
	// the store has no such hold <nil>
}
