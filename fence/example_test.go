package fence_test

import (
	"context"
	"errors"
	"fmt"

	"holdfast.dev/fence"
)

// A server that keeps accounts gets a token with every request, and checks it where it reads and where it writes.
func Example() {
	ctx := context.Background()
	var gate fence.Gate
	balance := 100

	read := func(token uint64) (int, error) {
		if err := gate.Pass(ctx, "account/7", fence.Token(token)); err != nil {
			return 0, err
		}
		return balance, nil
	}
	write := func(token uint64, amount int) error {
		return gate.Do(ctx, "account/7", fence.Token(token), func() error {
			balance = amount
			return nil
		})
	}

	seen, _ := read(33) // client A, which then stands still until its hold has run out
	fresh, _ := read(34)
	fmt.Println("B:", write(34, fresh-30))
	fmt.Println("A:", write(33, seen-50))
	fmt.Println("balance:", balance)
	// Output:
	// B: <nil>
	// A: fence: "account/7": token 33 is stale, 34 was seen: the lock has been granted to somebody else since; drop this work, and begin again with a new hold
	// balance: 70
}

// A read alone shuts older writers out: what was read stays true for as long as no newer holder comes.
func ExampleGate_Pass() {
	ctx := context.Background()
	var gate fence.Gate
	fmt.Println(gate.Pass(ctx, "report", fence.Token(34)))

	err := gate.Do(ctx, "report", fence.Token(33), func() error { panic("never runs") })
	fmt.Println(errors.Is(err, fence.ErrStale))
	// Output:
	// <nil>
	// true
}

// Do returns the error of the write itself when it was let in.
func ExampleGate_Do() {
	var gate fence.Gate
	err := gate.Do(context.Background(), "report", fence.Token(34), func() error { return errors.New("disk full") })
	fmt.Println(err, errors.Is(err, fence.ErrStale))
	// Output: disk full false
}

// A Gate begins empty. A resource that outlives its process keeps the greatest token with its data, and raises the new Gate by it.
func ExampleGate_Highest() {
	ctx := context.Background()
	const stored = 34

	var gate fence.Gate
	if err := gate.Pass(ctx, "report", fence.Token(stored)); err != nil {
		panic(err)
	}
	fmt.Println(gate.Highest("report"))
	fmt.Println(errors.Is(gate.Pass(ctx, "report", fence.Token(33)), fence.ErrStale))
	// Output:
	// 34
	// true
}

// What is gone for good need not be remembered.
func ExampleGate_Forget() {
	var gate fence.Gate
	gate.Pass(context.Background(), "upload/2f6a", fence.Token(1))
	fmt.Println(gate.Forget("upload/2f6a"), gate.Highest("upload/2f6a"))
	// Output: true 0
}

// StaleError tells which token came too late, and what it came after.
func ExampleStaleError() {
	ctx := context.Background()
	var gate fence.Gate
	gate.Pass(ctx, "report", fence.Token(34))

	var stale *fence.StaleError
	if errors.As(gate.Pass(ctx, "report", fence.Token(33)), &stale) {
		fmt.Println(stale.Resource, stale.Token, stale.Highest)
	}
	// Output: report 33 34
}

// No token is no reason to go on without a fence.
func ExampleToken() {
	var gate fence.Gate
	err := gate.Pass(context.Background(), "report", fence.Token(0))
	fmt.Println(err)
	fmt.Println(errors.Is(err, fence.ErrNoToken))
	// Output:
	// fence: "report": no token: take the lock first, or use a store that gives fencing tokens
	// true
}

// hold stands for any type that knows whether its token fences.
type hold struct {
	token  uint64
	permit bool
}

func (h hold) FenceToken() (uint64, error) {
	if h.permit {
		return 0, errors.New("a permit does not fence: its holders work side by side")
	}
	return h.token, nil
}

// A hold that must not fence says so itself.
func ExampleFencer() {
	ctx := context.Background()
	var gate fence.Gate
	fmt.Println(gate.Pass(ctx, "report", hold{token: 34}))
	fmt.Println(gate.Pass(ctx, "report", hold{token: 35, permit: true}))
	// Output:
	// <nil>
	// fence: "report": a permit does not fence: its holders work side by side
}
