// Package redlock keeps locks in a majority of independent Redis servers: the store redlock://. With one address it is the classic lock of a
// single instance, SET key value NX PX.
//
//	locks, err := holdfast.Open(ctx, "redlock://r1:6379,r2:6379,r3:6379")          // import _ "holdfast.dev/redislock/redlock"
//	locks, err := holdfast.Open(ctx, "redlock://?node=rediss://r1:6380&node=redis%2Bsentinel://s1,s2,s3/main&node=redis://r3")
//	locks := holdfast.New(redlock.New(clients))                                    // with rueidis clients of the program's own
//
// docs/stores/redlock.md is for those who run it. This is for those who read or change it. The rules A1, R2, … are those of package driver.
//
// # What a node has
//
// The lock is a string under its own name, with a TTL: what redsync, node-redlock, redis-py and others write, so that programs can be moved from
// them one at a time. Whoever finds it there stays out; whoever finds its own value there may prolong or delete it. Our value begins with
// the attempt (48 hexadecimal digits) and the number of the try (8); behind it are the token, since when, a state and a label, for people.
// Everything else is beside it, under keys that begin with holdfast:redlock: (a lock that has such a name is kept elsewhere: see keys.go).
// The guard, its reigns and its proofs are those of redislock, by the same code: internal/guard.
//
// What a node does it does in one call of a function (ballot.lua):
//
//	vote     takes the free key for a try, and tells the greatest token that this node has accepted, and its clock
//	take     accepts a token, if the key is still the try's
//	renew    prolongs the key, if it is still the try's, never shorter
//	repair   takes the free key for a hold that has a majority without this node, with its token
//	release  frees the key if it is the try's, or the attempt's, and tells the first who waits
//	look     changes nothing
//
// Many goroutines share requests: what waits to be sent to a node goes out together, as in redislock (internal/guard, combine.go).
//
// A server without functions is spoken to in the peers' way (plain.go): no guard, no token, nobody is told.
//
// # One try
//
//	      vote at all nodes at once
//	voting ──── a majority has granted ────▶ taking ──── a majority has accepted the token, in time ────▶ held
//	  │                                        │                                                          │ Release, loss
//	  │ a majority is out of reach             │ a majority is out of reach, or too little time is left   ▼
//	  └───────────────────────────────────────▶└─────────────────────────────────────────────────────▶ over: released at every node
//
// Its rules:
//
//  1. All at once, done at the majority. The others finish in the background: they get the hold too, because a node of the majority may be lost
//     later. No node is waited for longer than its time-out, and one that has not answered for a while is not asked until it does.
//  2. Fresh. Every try has a number of its own, which is part of its value. Else the late release of one try would free the next one's vote.
//  3. Validity. A hold is valid from before the first request, for TTL − drift (TTL/100 + 2 ms); if less than a tenth of the TTL is left when
//     the majority is there it is none.
//  4. Token. It is one more than what any node of the majority has accepted before and than their clocks. It counts when a majority of those nodes has
//     accepted it, each on condition that its key is still the try's: who slept between the rounds is refused. Two majorities have a node in common, so
//     that tokens rise. Who votes later is told the token, and does not count: its own tokens are not in it. A node that has forgotten what it accepted
//     was silent for a guard since, and its clock has passed it: that is why clocks must agree within the guard. One that is off by more than half of
//     it from the middle of all is not used for tokens; one that is not known yet counts as ours there (clocks.go).
//     With tokens=off there is no second round, and no token.
//  5. Order. At a node, what ends a try is sent when all requests of the try have been answered or given up. If one of them was given up it
//     may arrive later; the release then leaves a tombstone for a TTL, which only vote and repair look at, and which refuses it.
//  6. Release goes to every node that may have something of the try, also if it did not answer, and is repeated in the background for as
//     long as the TTL (undo.go). It is done, for the caller, at a majority.
//  7. Out of reach. A try ends as soon as no majority can be had. If a majority says that somebody has it, that is the answer, whatever the silent
//     ones would say. If nobody has a majority (three clients have taken a node each) each tries again after a random time.
//
// # A hold
//
//  8. Renewal goes to all nodes, and counts at a majority. More than a minority that do not have the hold: it is lost. Neither: unknown.
//  9. Repair. Nodes that answered a renewal that they have nothing are given the hold, with its token, after the renewal has its majority; that does
//     not count for it, nor for any other before it has been renewed there.
//  10. Claim. An attempt that is asked for again, and does not believe in its hold, gets it only from nodes that had part in the round of its token, and
//     have kept the key since: not from late votes and repairs, because another may have held the lock, and more, before these arrived.
//  11. Guard. A node that may have forgotten something votes, accepts and repairs nothing until all that was granted before has run out.
//
// # Waiting
//
// Of one client's waiters for a lock the first asks, and the others stand behind it (line.go): a thousand goroutines cost what one does. A node
// remembers who was refused, and since when it waits: by the middle of the nodes' clocks, as its client says it, so that all have the same order. A release at a node tells the one that has waited longest, and only that one; it is told
// by a majority, or by some and a moment later, and tries. The node keeps its vote for it meanwhile, for 20 ms at most: others who wait would
// split the votes. A vote that nobody has won ends the same way: who has waited longest is told, the same one by every node. Nothing
// depends on messages: it also tries from time to time, after 0.6 s at most; and after 0.25 s if a peer has the lock, who tells nobody, or the
// nodes cannot tell.
//
// # What cannot be had
//
// Readers and permits: [driver.ErrUnsupported]. Three users, each with a permit at one of three nodes, would all be refused by two; with counts
// for each node more than the limit can be granted over different majorities. Minimum holds: what a minority keeps for nobody is not kept.
// Nobody is served strictly in turn: nodes can disagree on who came first.
//
// # Races, by name
//
//   - split vote: rule 7.
//   - late vote: a node grants when the majority is there: it is sent the token, in the background. When the try is over: rule 5.
//   - late repair: sent before a release, it arrives after it: rule 5.
//   - slept: a process stands still between the rounds, or with the answers in hand. Its key has run out: rule 4; or time is up: rule 3.
//   - one server twice: two names of one server would be two votes. Which process a node is is asked when it is connected, before anything is written,
//     and a client that finds the same one twice then grants and renews nothing, at any node (agreement.go). It is also told by refusals, by renewals,
//     and by votes where there are tokens: if names lead elsewhere meanwhile, an answer of a server that another node is does not count.
//   - two lists: clients with different lists of nodes have majorities without a common node. The list is kept by every node, and a client that meets
//     another one anywhere grants and renews nothing, at any node, until that has changed; before it writes its own list into a node it reads
//     those of all others that it can reach. Two lists that have no node in common, or whose common nodes are all out of reach, nobody can tell apart.
//   - own past: a release is done at a majority, and its owner asks again: at a slow node the vote would overtake the release. It waits for it (frees.go).
//   - an earlier try's vote: a release covers what any try of the attempt may have left, not only the last one.
//   - released elsewhere: the attempt was repeated on another client, and released there: attempts are compared without the try.
//   - peers: what they write without us knows no guard and no token: see Guarantees.
//
// # Errors
//
// *[NodesError] has what every node said: granted, refused, guarded, timed out, unreachable. It is an answer if no node's word is missing for one:
// *driver.Held where a majority is taken, *driver.Guarded where too few may vote yet; otherwise unknown, and the core asks again.
package redlock
