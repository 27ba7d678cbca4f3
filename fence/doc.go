// Package fence protects a resource from a holder that has lost its lock and does not know it yet.
//
// # Why a lock is not enough
//
// A holder learns that its hold has ended by its context, but a process that stands still learns nothing: the machine is
// suspended, the collector runs, the debugger stops it, a packet lies in a queue for a minute. Meanwhile the store lets go:
//
//	A: locks, token 33 ── reads the balance ── stands still ·······················  wakes, writes ──▶ too late
//	store:                                      33 runs out ── grants 34
//	B:                                                          locks, token 34 ── reads, writes
//
// When A wakes, its write is already on its way. No check on A's side can help, because A can stand still after the check as
// well. Only the resource can refuse, if it remembers the greatest token that it has seen: 34 came, so 33 is over. Tokens rise
// with every grant of a lock, so a smaller one always belongs to an older hold.
//
// # Reads raise the gate too
//
// Were the gate raised by writes only, A could still write after B has read and before B writes: B would go on with what it
// read, and overwrite or contradict A's change. So whoever works under the lock passes the gate with its first access, be it only
// a read: from then on everything older is refused.
//
// # Check and write are one step
//
// "Check the token, then write" has the same hole, only smaller: between the two a newer holder can pass and read. So the
// resource checks and writes in one step:
//
//   - In memory, or for anything that one process guards: [Gate.Do] runs the write inside the gate. Nobody with a newer token
//     passes until it has ended.
//   - In a database: keep the token in the row that it protects, and write with "… SET data = ?, token = ? WHERE id = ? AND
//     token <= ?". No row changed means that the writer is stale. Reads raise the token in the same manner.
//   - A Gate lives as long as its process. If the resource outlives it, keep the greatest token with the data, and pass it to the
//     new Gate before anybody else.
//
// # Which tokens fence
//
// Tokens of one lock name are comparable with each other and with no others: a resource is guarded by one lock, always the same.
// Readers that hold a lock together share one token, and pass together. Permits of a semaphore have unequal tokens although their
// holders work side by side, so the older would be refused without having lost anything: such holds refuse to fence, see
// [Fencer]. Zero is no token: the store gives none, or the context belongs to no hold.
package fence
