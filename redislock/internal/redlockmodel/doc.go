// Package redlockmodel is a model of Redlock as package redlock does it: nodes, the requests that are on their way to them, and clients that
// vote, take, renew, repair, claim and release, in few enough states that a test can look at all of them. It is run by go test, and part of
// no program. docs/safety.md tells the story; this is for those who read or change the model.
//
//	m := redlockmodel.Model{Setup: …, Rules: redlockmodel.AllRules(), Faults: …}
//	result := m.Explore(limit)       // every order of everything that can happen, the short ones first
//
// # What must never be
//
//   - two holders: two clients that believe at the same time that they hold the lock. A client believes from the majority that it hears of until the
//     validity which it counts from before its first request is over, or it lets go, whatever the nodes think meanwhile
//   - a token that fell: a hold begins, and its token is not greater than that of every hold before
//   - an overtaken hold: a hold is renewed, or claimed, although one with a greater token has begun
//   - a revived try: a node gives the key to a try whose release it has carried out
//
// And what must be: from every state in which nobody holds, once all give up and everything on its way has arrived, the next who asks alone
// holds; at once, or if nodes have forgotten something after a guard (resolve_test.go).
//
// # What is in a state
//
//   - nodes: whose the key is, by client and try, what is left of its TTL, and whether the node had part in the round of its token; the greatest token
//     that the node has accepted; what was saved of that; what is left of the guard; how far the clock is ahead; tombstones
//   - between each node and each client: requests that are on their way (vote, take, renew, repair, release), in no order; what the client has heard;
//     whether it has given up waiting for an answer
//   - clients: what the attempt does (voting, taking, holding, ended and not released, waiting to try again, over), its try, its token, its validity, the
//     renewal that is under way
//   - how many faults of each kind may still happen; the greatest token of a hold so far
//
// # Who may do what
//
// moves.go lists it. A client asks, gives up, tries again, renews, claims and lets go whenever it likes. A request arrives whenever it likes, and is
// carried out as a whole, as Redis does; the answer is heard at once, or is lost. What follows from an answer follows at once. Time passes
// for all at once, by ticks; between two ticks anything can happen. Any of it in any order and any number of times, but for faults, attempts, tries and
// renewals, which are counted.
//
// # The faults
//
// A node restarts without its memory, or with older data. An answer is lost; a client gives up waiting, and the request arrives later. A key is lost
// before a hold rests on it. Beyond what Redlock can stand: a clock jumps forward under a hold; a tombstone runs out before what it is for arrives;
// clocks that differ by the guard or more; programs that know no guard at a node that has forgotten something.
//
// # Rules
//
// rules.go has those of package redlock, one switch each. A test switches off one after the other and wants a counterexample, which it then makes
// again, move by move, without the search; for some there is none: these are belts, and their table says so. They are, by the numbers of package
// redlock's comment: 1 Majority; 2 Fresh; 3 Elapsed, Sent; 4 SecondRound, Awaited, Owned, Counted, Middle, SomeClock, OwnClock, OwnHalf; 5 Order, Tombstone, Always, UpTo,
// Heeded; 6 and 7 Everywhere; 8 OwnRound, EndIsEnd; 9 RepairAfter, RepairApart, RepairToken; 10 HadPart, Accepted, GuardClaims; 11 Guard, WholeGuard, GuardTakes,
// GuardRepairs.
//
// # Where the model is harsher than the driver
//
//   - requests of one client to one node overtake each other, but for the release, which is sent when the others have been answered or given up;
//     the driver sends them one after the other
//   - a client may give up, let go or renew at any moment, not only when an answer says so; and it goes on believing when a majority says that its
//     hold is gone
//   - requests take as long as they like, also those that are not given up; one that was given up is heard of all the same
//   - clients know no clocks but those of the nodes that have just granted (unless the setup says that they know all)
//
// # Where it is simpler
//
//   - one lock, one TTL; five nodes, three clients at a time and two tries of each attempt at most
//   - validity is TTL − elapsed: the drift, and the tenth that must be left, make it shorter. Clocks run at one speed
//   - a guarded node renews what it has: the part of the guard in which it does not (the fence) is in guardmodel, with replicas
//   - a renewal that has its majority when nobody waits for it any more repairs nothing. The driver's may: that is the rule RepairAfter, a belt
//   - clients' own clocks are right, and what they know of others' is exact
//   - nodes forget all tombstones when they restart; a release that finds nothing, and has no doubt, leaves none
//   - one node alone, which decides on the token with its vote: see guardmodel
//   - a release is repeated until it arrives; how long the driver does that is not here: what is forgotten runs out by itself
//   - who waits, who is told, and votes that are kept for that one for a moment; breaking a hold; the list of nodes, nodes that are replaced, and one
//     server under two names: not here
//   - an attempt that is repeated on another client, and takes over what it finds there: not here
//
// # How much is looked at
//
// The tests explore every state of each of their models, or they fail. With -short only the small ones, under the race detector only the tiny ones.
// HOLDFAST_MODEL=big adds those that take minutes and gigabytes:
//
//	HOLDFAST_MODEL=big go test -run "TestRedlockHolds|TestBelts" -v -timeout 2h ./internal/redlockmodel
//
// Models that are too large for that are walked through at random (walk_test.go).
package redlockmodel
