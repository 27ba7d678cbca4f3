// Package guardmodel is a model of the guard of redislock: what its servers remember, lose and promise, in few enough states that a test
// can look at all of them. It is run by go test, and part of no program. docs/safety.md tells the story; this is for those who read or
// change the model.
//
//	m := guardmodel.Model{Setup: …, Rules: guardmodel.AllRules(), Faults: …}
//	result := m.Explore(limit)       // every order of everything that can happen, the short ones first
//
// # What must never be
//
// Two clients that believe at the same time that they hold the lock. A client believes from the answer that grants or renews until its
// TTL is over or it lets go, whatever the servers think meanwhile.
//
// # What is in a state
//
//   - nodes: primary or replica of another; up, paused or down; the data (whose the lock is and for how long, whether that was claimed,
//     the marker of the trusted reign); what was saved of it; the library's memory (the reign that it knows, what is left of the
//     guard, proofs of contact); whether the second id is zeros and the offset 0; the uptime
//   - clients: the validity of a hold; a push or an answer that is on its way; a release that is on its way. Whoever is idle may
//     ask anywhere, or wait to be handed the lock
//   - how many faults of each kind may still happen; which primary is the newest
//
// # What can happen
//
// moves.go lists it. Any of it at any moment, in any order, any number of times but for the faults, which are counted. Time passes for all
// at once, by ticks; between two ticks anything can happen. A call is carried out as a whole, as Redis does.
//
// # Where the model is harsher than Redis
//
//   - a replica may acknowledge without having the data; links lose nothing and yet may be silent for as long as they like
//   - clients reach every primary at every moment, also those that Sentinel has given up
//   - releases may be carried out anywhere and more than once; a replica may be promoted before it has synced
//   - a node that starts again may be a primary, whatever Sentinel has decided meanwhile (with proofs; see Overlap without)
//
// # Where it is simpler
//
//   - one exclusive lock with one TTL; readers and permits are granted, renewed and handed over by the same calls
//   - a renewal is answered at once. A late answer counts from when it was sent, so it is worth less; a renewal that arrives late
//     makes a record last longer that nobody believes in, which keeps the lock from others
//   - an acknowledgement arrives at once: it proves contact at the time of the note that it answers, so a late one proves less
//   - the id of the reign is read in every call; the library may take up to 100 ms, which is the least TTL
//   - replicas follow primaries, not replicas; four nodes at most; Cluster's slots and Redlock are not here; nor are tokens
//   - clocks run at one speed, but for the faults named Steps, EmptySteps, BackSteps and Skew
//
// # How much is looked at
//
// The tests explore every state of each of their models, or they fail. With -short, and under the race detector, only the small ones.
// HOLDFAST_MODEL=big adds those that take minutes and gigabytes:
//
//	HOLDFAST_MODEL=big go test -run TestGuardHolds -v -timeout 60m ./internal/guardmodel
package guardmodel
