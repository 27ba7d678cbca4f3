// Package holdfast gives programs one kind of distributed lock over the stores they already run.
//
//	locks, err := holdfast.Open(ctx, "file:///srv/shop/locks")  // import _ "holdfast.dev/filelock"
//	defer locks.Close()
//
//	err = locks.Do(ctx, "nightly-email", func(ctx context.Context) error {
//		return send(ctx, holdfast.Token(ctx))               // ctx ends, with a cause, before the lock runs out
//	})
//
// Or, where the hold outlives a function:
//
//	hold, err := locks.Mutex("orders/42", holdfast.TTL(10*time.Second), holdfast.Grace(2*time.Second)).Lock(wait)
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock()
//	ctx = hold.Context(ctx)                                     // ends 2 s before it could be anyone else's
//
// # Kinds of locks
//
// [Client.Mutex] is held by one at a time. [Client.RWMutex] by one writer or any number of readers; it is the same lock as the Mutex
// of its name. [Client.Semaphore] has a number of permits, and a name space of its own. [Multi] holds several locks as one, also of
// different stores: all or none, in an order that cannot deadlock. [Client.Election] is a Mutex seen from the other side: who leads,
// and a Run that campaigns again after a loss. All of them are made of the same [Hold], and everything below is true of each.
//
// # What a hold promises
//
// Every acquisition is a [Hold] of its own. No goroutine or thread owns it: pass it on as you like. While it is good nobody else
// holds the lock; it is renewed by itself, at a third of its TTL, until Unlock. When it cannot be renewed, was taken away, or was
// broken by an operator, its contexts end with a [*LostError] that says why, and Unlock and Do say [ErrLost]: a loss is never
// silent. Validity is counted from the moment before the request went out, on a clock that does not stand still while the machine
// is suspended, less a margin; so a client stops believing in a hold before it runs out in the store. A hold that somebody takes
// away before that, an operator with Now or a store that forgets, can be somebody else's before its holder hears of it.
//
// # What it cannot promise, and what helps
//
// A process that is stopped (SIGSTOP, a long garbage collection, a paused virtual machine) cannot see its context end. When it
// goes on, another may hold the lock, and its late write does harm. Against that only the resource can help: every hold has a
// fencing token ([Hold.Token]), greater than that of every holder before it; send it along, and let the resource refuse what is
// older than what it has seen. Package fence has such gates.
//
// How much a store can keep of these promises it says itself: [Client.Guarantees]. [Require] makes Open insist.
//
// # Waiting
//
// Lock waits its turn, first come first served where the store can. Its context bounds the wait and nothing else: when it ends,
// the attempt leaves the queue, and the error tells who is in the way. A store that gives no answer is asked again for as long as
// the context lives, under the same id, so that an answer that got lost does no harm. Whatever may have been left behind is
// undone, in the background if need be. Give waits a deadline.
//
// # Re-entry
//
// Lock with a context that descends from a hold's Context, on the same client and name, nests in that hold instead of waiting
// for it. Two goroutines that do so with the same context exclude each other. A goroutine's identity means nothing: only the
// context does. A writer may read, and readers of one hold nest side by side; a reader that wants to write gets [ErrUpgrade] instead
// of waiting for itself. Permits never nest. A nested hold has the TTL, MaxHold and MinHold of the outermost one; its own Grace counts if it is longer. Two clients
// are strangers, also within one process.
//
// # Testing
//
// The store mem:// runs inside a testing/synctest bubble, so that code with locks, time-outs and losses can be tested in fake
// time, in microseconds.
package holdfast
