// Package driver is the contract between Holdfast's core and the stores in which locks live.
//
// Programs that use locks need not import it: they import holdfast.dev and, for its side effect, one driver. This package is for
// people who write a driver, and its comments are the specification: locktest checks them, rule by rule, against the real server.
//
// # Who does what
//
// The core waits, retries, renews, notices loss, nests re-entry, undoes what was left half done, and reports. A driver only
// translates: "this attempt wants that lock" into the store's commands, and the store's answers into the words of this package.
// If two drivers need the same thing, it belongs here or in the core.
//
// # Words
//
//   - attempt: one call of Lock, with a secret id of its own ([Attempt]). It waits, then holds, then is gone. No connection,
//     goroutine or thread ever identifies an owner.
//   - grant: the store's word that an attempt holds ([Grant]).
//   - lease: what keeps grants alive ([Lease]): one for each grant, or one for many (a session, a connection).
//   - token: the fencing token, rising with every grant of a name.
//   - answer: an error with which the store has decided ([Answered]): nothing is left to undo. Every other error is unknown: the
//     request may have been carried out, may be carried out later, or never.
//
// # The life of an attempt, as the store sees it
//
//	       Acquire (free, nobody before it)
//	none ──────────────────────────────────▶ holds ──┬── Release ──▶ none  (then, with Keep: taken by nobody for a while)
//	 │  Acquire (taken)            its turn ▲        ├── its TTL runs out, its session ends ──▶ none
//	 └───────────────────▶ waits ───────────┘        └── Break, now ──▶ none
//	                         │
//	                         ├── Release ──▶ none
//	                         └── its caller has been away for longer than its TTL ──▶ none
//
// # Races that every driver meets, by name
//
//   - lost answer: the store granted, the answer never came. The core repeats Acquire (rule A1) or calls Release (rule A3).
//   - late request: Release overtakes the Acquire that it undoes (rule R2).
//   - crossing: Release of a waiting attempt meets its grant. Whoever is first, afterwards it neither waits nor holds.
//   - old push: a message "it is your turn" arrives long after it was sent. Grant.Asked is then the last moment at which the
//     driver knew that it did not hold, or the driver confirms with the store first.
//   - expiry in flight: the store lets go while a renewal is on its way. The renewal must not bring the hold back.
//   - crossing loss: Request.Lost may be called before Acquire has returned.
package driver
