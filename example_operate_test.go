package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// Inspect shows who holds a lock and who waits for it.
func ExampleClient_Inspect() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.Mutex("orders/42").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()

	info, err := locks.Inspect(ctx, "orders/42")
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range info.Holders {
		fmt.Println("token", h.Token, "runs out unless renewed:", h.Left > 0)
	}
	fmt.Println("waiters:", len(info.Waiters))
	// Output:
	// token 1 runs out unless renewed: true
	// waiters: 0
}

// List shows everything that somebody holds or waits for, in no particular order.
func ExampleClient_List() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	for _, name := range []string{"orders/1", "orders/2", "reports"} {
		if _, err := locks.Mutex(name).Lock(ctx); err != nil {
			log.Fatal(err)
		}
	}
	var names []string
	for info, err := range locks.List(ctx, "orders/") {
		if err != nil {
			log.Fatal(err)
		}
		names = append(names, info.Name)
	}
	slices.Sort(names)
	fmt.Println(names)
	// Output:
	// [orders/1 orders/2]
}

// Break ends somebody's hold: its holder is told, and the lock moves on when it lets go, or when its TTL is over.
func ExampleClient_Break() {
	ctx := context.Background()
	server := memlock.NewServer()
	holder, operator := holdfast.New(server.Connect()), holdfast.New(server.Connect())
	defer holder.Close()
	defer operator.Close()
	hold, err := holder.Mutex("import").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}

	info, err := operator.Inspect(ctx, "import")
	if err != nil {
		log.Fatal(err)
	}
	if err := operator.Break(ctx, "import", info.Holders[0].Token); err != nil {
		log.Fatal(err)
	}
	fmt.Println("told:", errors.Is(hold.Err(), holdfast.ErrLost))
	_, err = operator.Mutex("import").TryLock(ctx)
	fmt.Println("still the holder's:", errors.Is(err, holdfast.ErrHeld))
	hold.Unlock()
	next, err := operator.Mutex("import").TryLock(ctx)
	fmt.Println("moved on:", err == nil, "greater token:", next.Token() > hold.Token())
	// Output:
	// told: true
	// still the holder's: true
	// moved on: true greater token: true
}

// Now frees the lock at once: for a holder that is known to be dead. If it is not, only the fencing token helps.
func ExampleNow() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	dead, err := locks.Mutex("import").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := locks.Break(ctx, "import", dead.Token(), holdfast.Now()); err != nil {
		log.Fatal(err)
	}
	_, err = locks.Mutex("import").TryLock(ctx)
	fmt.Println("free at once:", err == nil)
	err = locks.Break(ctx, "import", dead.Token())
	fmt.Println("nothing left to break:", errors.Is(err, holdfast.ErrNotHeld))
	// Output:
	// free at once: true
	// nothing left to break: true
}

// An Observer is told what happens, for logs and metrics.
func ExampleWithObserver() {
	ctx := context.Background()
	log := holdfast.ObserverFunc(func(_ context.Context, e holdfast.Event) {
		fmt.Printf("%s %s token=%d count=%d err=%v\n", e.Kind, e.Name, e.Token, e.Count, e.Err != nil)
	})
	locks := holdfast.New(memlock.New(), holdfast.WithObserver(log))
	defer locks.Close()
	locks.Do(ctx, "report", func(ctx context.Context) error {
		locks.Mutex("report").TryLock(context.Background()) // a stranger: its context does not come from the hold
		return nil
	})
	// Output:
	// acquired report token=1 count=1 err=false
	// failed report token=0 count=0 err=true
	// released report token=1 count=0 err=false
}

// Guarantees tells what the store promises, as it is deployed.
func ExampleClient_Guarantees() {
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	g, err := locks.Guarantees(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("fencing:", g.Fencing)
	fmt.Println("survives a restart:", g.SurvivesRestart)
	fmt.Println("first come first served:", g.FIFO)
	// Output:
	// fencing: volatile
	// survives a restart: false
	// first come first served: true
}

// Close releases what is held and ends what waits.
func ExampleClient_Close() {
	ctx := context.Background()
	server := memlock.NewServer()
	one, two := holdfast.New(server.Connect()), holdfast.New(server.Connect())
	defer two.Close()
	hold, err := one.Mutex("a").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(one.Close())
	fmt.Println(errors.Is(hold.Err(), holdfast.ErrClosed))
	_, err = two.Mutex("a").TryLock(ctx)
	fmt.Println("free for others:", err == nil)
	// Output:
	// <nil>
	// true
	// free for others: true
}
