// Package redislock keeps locks in Redis 7.0 or later, or Valkey: the stores redis:// and rediss://, and redis+sentinel:// and
// rediss+sentinel:// for a primary that Sentinels watch.
//
//	locks, err := holdfast.Open(ctx, "redis://127.0.0.1:6379")     // import _ "holdfast.dev/redislock"
//	locks, err := holdfast.Open(ctx, "redis+sentinel://s1,s2,s3/mymaster")
//	locks := holdfast.New(redislock.New(client))                   // with a rueidis client of the program's own
//
// docs/stores/redis.md is for those who run it: parameters, faults, settings. This is for those who read or change it. The rules A1,
// R2, … are those of package driver.
//
// # Who does what
//
// Everything that is decided is decided in the server, by a function library (engine.lua behind guard.lua), each call atomically. A client sends
// requests, at most one at a time for each call of Acquire, and is told on a channel of its own what happens to those that wait.
//
//	acquire   takes a free lock, goes on with what the attempt has already, or queues it        A1: idempotent by attempt
//	release   ends or undoes an attempt, or a row of them, and hands the lock to the first that waits
//	renew     makes a hold last longer, never shorter; claims a grant that came as a message, or was passed on
//	break     ends somebody else's hold
//	inspect   changes nothing
//
// find, open, note and prove, which are about the store and not about locks, are those of package internal/guard.
//
// Many goroutines share requests: what waits to be sent goes out together (internal/guard, combine.go), as several calls of one function.
//
// # One attempt's life, in the server
//
//	          acquire: free                                  renew, acquire
//	unknown ────────────────────────────────▶ claimed ◀───────────────────┐
//	   │                                         │  ▲                     │
//	   └──▶ waiting ── its turn, it is told ──▶ unclaimed ── not claimed in time ──▶ lapsed: unknown again, or waiting anew
//	           │ left, lost                      │        │
//	           ▼                                 ▼        ▼ break
//	        unknown      release, expiry ──▶ free, or kept for nobody until its minimum hold is over
//
// The lock is never free while somebody waits: whoever makes room gives it to the first in the queue in the same call, and tells that one
// alone. A hold ends when it is released, when its time is over and somebody looks, or when its key expires.
//
// # Hand-over
//
//  1. Turn. A free lock with a queue goes to its head, never to a newcomer, also after an expiry.
//  2. Claim. A grant that goes out as a message lives for the time to claim it (claim=, 2 s), or its TTL if that is less, until the
//     waiter renews it. One with a minimum hold is claimed before anybody runs under it. The client counts its validity from the last
//     request that was answered "not yet" (T6), and asks first if little of that is left. The core's first renewal is the claim; if none
//     comes the client claims by itself after 45 % of the time. Holds that are shorter cost no request for it.
//  3. Ids. Every request has a new id on the client's channel, which takes the place of the last one's. Messages for other ids are
//     old, and ignored: if they meant a grant, the answer to the newer request says so.
//  4. Watch. The hand-over also tells the next in line to look when the claim must have come. Everybody who waits asks again every 3 to 4
//     s, with a TTL below 7 s about every half TTL, when the holder is to run out (staggered by place), and when the subscription was
//     interrupted.
//  5. Dead. SPUBLISH says whether anybody listens: a waiter whose client is gone is passed over in the same call, and one that is gone
//     holds nobody back who fits behind it. One that has not been heard of for one and a half TTLs, 0.75 s at least, is dropped; and so are
//     those whose client let a grant lapse, and has not been heard of since: one that hangs costs one claim, not one for each of its
//     waiters. A waiter that was dropped and lives finds out when it asks, and queues again, behind.
//  6. Undo. Release takes an attempt out of the queue, or hands on what it was just granted. If it finds nothing, or if a request of
//     the attempt may still be on its way, it leaves a tombstone for its TTL: what arrives later is refused.
//  7. Subscription first. A request that would wait is queued only if its channel is subscribed, confirmed by the server.
//  8. One queue. Readers behind a waiting writer wait; after a writer all readers up to the next go together, under one token; a
//     request for many permits at the head holds back those behind it. Every holder has its own expiry.
//  9. Never shorter. Renewals and repeated requests only move an end away. What is reported is never more than was asked for, whatever
//     the server's clock did meanwhile.
//  10. Relay. Waiters of one client that stand one behind the other, or share a place, get the lock one after the other without asking the
//     server in between: the one that was granted it passes it on, in their order, each under a token of its own, for as long as the
//     first was granted it (relay.go, which also says what the server knows of it, and when).
//  11. Holding back. Where others of its client wait already, a newcomer waits for an eighth of what the last one waited, 10 ms at most,
//     before it asks: whoever comes meanwhile shares the place that it gets, as if they had asked together. Nobody is overtaken by
//     that: who has not asked has no place yet. It does not wait where the lock might be free meanwhile (line.go).
//
// # Tokens
//
// A token is the server's time in microseconds, or one more than the last of this server process, or one more than the name remembers,
// whichever is most. The process's last is in the library's memory; what was given out is below a ceiling in the store's key (internal/guard).
// A name whose token is ahead of the clock remembers it until the clock has passed it, an hour at most, so that two versions of the library
// beside each other do not repeat one. No other counter stays.
//
// # The guard, replicas
//
// A restart can forget holds that their holders believe in, and so can a failover. Package internal/guard, on which this one is built, keeps a
// server that may have forgotten something from granting: its package comment has the rules of the guard, 1 to 6. Here they mean:
//
//   - muted: nothing is granted and nothing renewed ("unknown").
//   - guarded: what is known can be renewed, by who believes in it, and released; nothing is granted, handed over, passed on or claimed, not
//     even what an attempt was granted before and asks for again, because it does not believe in it; who comes queues. A request to renew
//     says by a minus before its TTL that it is a claim: that its sender does not believe in the hold yet, or any more.
//   - unproved: nothing is granted or renewed. Releases need no proof: they free, and hand nothing over.
//
// # Time
//
// Ends are counted by the server's clock, validity by the client's ([driver.Boot]): clocks that run at different speeds by more than the
// margin, and clocks that are stepped forward, are beyond what is promised. After a clock was set back the server brings the ends of
// holds down to what their owners can still believe; tokens rise all the same.
//
// # Races, by name
//
//   - crossing: Release of a waiter meets its grant. The server decides the order: it is taken from the queue, or what it has is handed on.
//   - late acquire: it arrives after its Release. The tombstone refuses it. Not only a network does that: what is sent behind WAIT goes by
//     another connection than the rest, and can be overtaken by a Release that was sent later.
//   - old push: a grant's message arrives after the grant has lapsed. Rule 2: the time is up, so it asks; rule 3, if it has asked since.
//   - push before answer: the message overtakes the answer to the request that queued it. It is kept, and looked at after the answer.
//   - lost push: rules 4 and 5.
//   - released while asking: the request under way may be carried out after the Release, which therefore leaves a tombstone. Acquire
//     answers ErrGone, and sends nothing more (R1).
//   - two calls of one attempt: the later one is told; it wakes the other, which asks, and gets the same grant.
//   - lost library: "Function not found" has done nothing. It is loaded, and called again.
//   - refused while waiting: the server is out of memory, say, when a waiter asks again. It keeps its place, so this is no answer: the core
//     asks again.
//   - crossing a relay: see relay.go.
//   - renewed too late: a process stood still, and finds the answer to its renewal when its hold has ended. It counts for nothing: another
//     may have been granted the lock at a primary that this answer did not come from.
//   - unproved release: the lock is free, and somebody waits. Its head is told to look, and gets the proof.
//   - two guards, lost store, replaced while asking: see internal/guard.
//
// # Keys and their lives
//
//	prefix store               what the clients agree on: see internal/guard. It stays.
//	prefix lock:{name}         a lock that is held or waited for, and its tombstones. Held alone, since it was free: a string, for its TTL.
//	                           Otherwise a hash: as long as the last holder, waiter or tombstone counts, and an eighth longer; renewed
//	                           with them. Free: deleted at once, but for tombstones (a TTL) and a token ahead of the clock (until that
//	                           has passed it, an hour at most).
//	prefix permits:{name}      a semaphore, likewise.
//	prefix inbox:…             a channel, not a key: subscribed while its client is open.
//
// # Errors
//
// What the server certainly declined is a *driver.Refused around a *[ServerError] that is one of this package's errors; it is not asked
// again. No answer, an answer cut off, a server that is loading: unknown, and asked again by the core, under the same attempt.
package redislock
