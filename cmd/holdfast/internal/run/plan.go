package run

import (
	"context"
	"time"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/say"
)

// A Plan is what holdfast run was asked to do. Whoever fills it in has checked what can be checked without a store.
type Plan struct {
	Names   []string
	Command []string // the program and its arguments; for -c the shell, "-c" and the string

	Shared bool
	Limit  int // > 0: one permit of the semaphore of that name

	NoWait bool
	Wait   time.Duration // 0: for as long as it takes
	NotGot int           // the code when the lock was not got

	TTL, Grace, MaxHold, MinHold time.Duration // 0: not given
	StoreTTL                     time.Duration // what the store's URL says of the TTL; 0: nothing
	StoreAsks                    bool          // and that is what it asks for (ttl=), not what it allows
	Label                        string
	Leave                        bool // what the command leaves in the background is left alone, unprotected (-o)

	Quiet, Verbose bool

	// Open opens the store. It is called again after an error that is no answer.
	Open  func(ctx context.Context, opts ...holdfast.OpenOption) (*holdfast.Client, error)
	Voice *say.Voice
}
