package fence_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast.dev"
	"holdfast.dev/fence"
	_ "holdfast.dev/memlock"
)

// account is a resource that wants a token with every request.
type account struct {
	gate    fence.Gate
	balance int
}

func (a *account) read(ctx context.Context, token uint64) (int, error) {
	if err := a.gate.Pass(ctx, "account", fence.Token(token)); err != nil {
		return 0, err
	}
	return a.balance, nil
}

func (a *account) write(ctx context.Context, token uint64, balance int) error {
	return a.gate.Do(ctx, "account", fence.Token(token), func() error {
		a.balance = balance
		return nil
	})
}

// A holder is suspended between its read and its write. Meanwhile its hold runs out, and another client works under the lock. When
// the first one goes on, it still believes that it holds: its write would undo the other's. The account refuses it.
func Example_pausedHolder() {
	ctx := context.Background()
	acct := &account{balance: 100}
	a, err := holdfast.Open(ctx, "mem://bank")
	if err != nil {
		panic(err)
	}
	defer a.Close()
	b, err := holdfast.Open(ctx, "mem://bank")
	if err != nil {
		panic(err)
	}
	defer b.Close()

	// Fixed keeps the hold from being renewed: a suspended machine does not renew either.
	hold, err := a.Mutex("account", holdfast.TTL(100*time.Millisecond), holdfast.Fixed()).Lock(ctx)
	if err != nil {
		panic(err)
	}
	seen, _ := acct.read(ctx, hold.Token())
	fmt.Println("A read", seen)

	// Here A is suspended. B waits until A's hold has run out, and takes 30.
	err = b.Do(ctx, "account", func(ctx context.Context) error {
		balance, err := acct.read(ctx, holdfast.Token(ctx))
		if err != nil {
			return err
		}
		return acct.write(ctx, holdfast.Token(ctx), balance-30)
	})
	fmt.Println("B took 30:", err)

	// Here A wakes and takes 50 of what it has seen.
	err = acct.write(ctx, hold.Token(), seen-50)
	fmt.Println("A is refused:", errors.Is(err, fence.ErrStale))
	fmt.Println("A's hold was lost:", errors.Is(hold.Unlock(), holdfast.ErrLost))
	fmt.Println("balance:", acct.balance)
	// Output:
	// A read 100
	// B took 30: <nil>
	// A is refused: true
	// A's hold was lost: true
	// balance: 70
}
