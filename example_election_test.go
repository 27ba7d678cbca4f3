package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// One of several processes leads at a time. Run calls its function whenever that is this one.
func ExampleElection() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	scheduler := locks.Election("scheduler")
	err := scheduler.Run(ctx, func(ctx context.Context) error {
		fmt.Println("leading, with token", holdfast.Token(ctx))
		return nil // done: resigns
	})
	fmt.Println(err)
	// Output:
	// leading, with token 1
	// <nil>
}

// A candidate's Label is how others see it.
func ExampleClient_Election() {
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	fmt.Println(locks.Election("scheduler", holdfast.Label("blue")).Name())
	// Output: scheduler
}

// Campaign waits until it leads; Unlock resigns.
func ExampleElection_Campaign() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	term, err := locks.Election("scheduler").Campaign(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("leading:", term.Err() == nil)
	term.Unlock()
	fmt.Println("resigned:", errors.Is(term.Err(), holdfast.ErrReleased))
	// Output:
	// leading: true
	// resigned: true
}

// When leadership is lost the context ends; Run waits for its function and campaigns again, and the next term has a greater token.
func ExampleElection_Run() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	scheduler := locks.Election("scheduler")
	err := scheduler.Run(ctx, func(ctx context.Context) error {
		if holdfast.Token(ctx) == 2 {
			fmt.Println("elected again, and done")
			return nil
		}
		locks.Break(ctx, "scheduler", holdfast.Token(ctx)) // an operator ends this term
		<-ctx.Done()
		fmt.Println("lost:", errors.Is(context.Cause(ctx), holdfast.ErrLost))
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// lost: true
	// elected again, and done
	// <nil>
}

// Leader is for people and dashboards. Never decide by it who may write: it can be out of date as soon as it is there.
func ExampleElection_Leader() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	scheduler := locks.Election("scheduler", holdfast.Label("blue"))
	_, err := scheduler.Leader(ctx)
	fmt.Println("nobody:", errors.Is(err, holdfast.ErrNotHeld))
	term, err := scheduler.Campaign(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer term.Unlock()
	leader, err := scheduler.Leader(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("blue:", strings.HasSuffix(leader.Label, " blue"), "token:", leader.Token)
	// Output:
	// nobody: true
	// blue: true token: 1
}

// Observe shows who leads, now and whenever that changes, until the loop is left or its context ends.
func ExampleElection_Observe() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	scheduler := locks.Election("scheduler")
	for leader, err := range scheduler.Observe(ctx) {
		if errors.Is(err, holdfast.ErrNotHeld) {
			fmt.Println("nobody leads")
			if _, err := scheduler.Campaign(ctx); err != nil {
				log.Fatal(err)
			}
			continue
		}
		fmt.Println("somebody leads, with token", leader.Token)
		break
	}
	// Output:
	// nobody leads
	// somebody leads, with token 1
}
