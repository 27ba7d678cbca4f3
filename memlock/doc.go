// Package memlock keeps locks in the memory of this process: the store mem://.
//
// It is for programs that run once, and for tests: also for tests in fake time, because it works inside a bubble of
// testing/synctest. And it is the driver to read before writing another one: it does everything that package driver asks for,
// with no network in the way. The rules (A1, R2, …) that its comments name are those of [driver.Store], [driver.Lease] and
// [driver.Breaker].
//
//	locks, err := holdfast.Open(ctx, "mem://")        // import _ "holdfast.dev/memlock"
//	locks, err := holdfast.Open(ctx, "mem://billing") // the same locks for everybody in this process who names billing
//
// # The server and its connections
//
// A [Server] is the place where locks live. A [Store] is one client's connection to it; many stores may be connected to one
// server. mem:// opens a server of its own each time. mem://NAME opens the server of that name, which exists for as long as any
// client of it is open; when the last one closes, it ends, and its locks with it. Opened again it begins empty, but its tokens go
// on rising.
//
// Close ends one connection and nothing else. Calls that wait in it end with driver.ErrClosed, as do later ones; nothing is
// reported through it any more. Its holds stay until they run out: Close is not Release.
//
// # What a server knows
//
// A lock is a name together with its kind: the semaphore "x" and the lock "x" are strangers. It exists only while somebody
// holds it, waits for it, or keeps it. An attempt that a lock knows of is a claim, and is in exactly one of three lists:
//
//	queue   waits, and a caller of Acquire is there to take the answer
//	absent  waits, but its last caller went away; its place is kept for its TTL
//	holders holds; or held, and is kept because its minimum hold is not over
//
// Beside the locks there are tombstones, which remember attempts that were undone before they were asked for (R2), and one
// counter for the tokens of all names, so that a name that nobody uses leaves nothing behind.
//
// # Serving in turn
//
// Every request joins the end of the queue, and the head of the queue is served for as long as it fits beside the holders. That
// is all: a request is granted at once if nobody waits before it and it fits; readers behind a waiting writer wait; after a
// writer all readers up to the next writer are granted together; a request for many permits at the head holds back the smaller
// ones behind it. Whatever makes room (a release, an expiry, a break, the end of a minimum hold, a waiter that leaves) serves
// the queue in the same breath: the new owner and its token are written first, then exactly that waiter is woken. Nobody else
// wakes, and nothing that happens in a hand-over depends on how many wait.
//
// A waiter whose last caller went away is passed over. The core releases such an attempt at once; if it does not, because it is
// about to ask again (A1), the waiter finds its old place, for as long as its TTL.
//
// # Tokens
//
// They begin at 1 and rise with every grant of the server. A grant takes 1 + Reserve of them, [MaxReserve] at most. Readers share
// the token of their generation, without reserve; a generation ends when none of its readers holds any longer, or when it is
// broken: a reader that comes after a Break gets a greater token than the ones that were broken.
//
// # Time
//
// A hold runs out a TTL after it was granted or last renewed, by the server's clock, and each reader has a TTL of its own. Two
// things see to it: an alarm, so that loss is reported and the next waiter served promptly; and a look at the clock before every
// operation, so that a late alarm never lets anybody renew what has run out. There is one alarm for the whole server, set to the
// earliest of all deadlines. A renewal does not touch it: when it rings it looks again.
//
// Grant.Asked is read before the server is asked. For a grant after a wait it is the moment of the hand-over itself: the clock of
// the server and the clock of its clients are one and the same, so the moment at which the hold began in the server is exactly
// the last one at which the client did not hold. Over a network it would have to be the moment before the last question that
// was answered "not yet".
//
// # Races
//
// All state is guarded by one mutex, which is never held while anything blocks or while a function of somebody else runs (the
// clock's excepted, see [WithClock]). What remains is between the server's decision and the goroutine that learns of it:
//
//   - Granted while ctx ends: Acquire looks once more, and returns a grant that is there.
//   - Released while it waits, or after it was granted but before Acquire has returned: Acquire answers ErrGone.
//   - Granted, and run out before Acquire has returned: the grant is returned, with the Asked and TTL that it had; Lost may have
//     been called already.
//   - Run out while Renew or Release is on its way: whoever takes the mutex first looks at the clock first.
//   - Lost called while Release is on its way: may still arrive just after Release has returned.
//
// # Inside a testing/synctest bubble
//
// Use a server that was made in the bubble: mem://, [New], or a NAME that nobody outside of it uses. The server has no goroutine
// of its own; time moves when all goroutines of the bubble wait.
package memlock
