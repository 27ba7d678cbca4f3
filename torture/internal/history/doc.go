// Package history is what a round of torture leaves behind: who asked for what and when, who got it, what went wrong meanwhile.
// Everything that is claimed about a round is computed from it, by package check, now or years later.
//
// # Records
//
// A history is a number of Records, each of 48 bytes. Every process appends its own to a file of its own, with one write for
// each, so that a process that is killed has lost nothing that it had done. All times are CLOCK_BOOTTIME of one machine: they can
// be compared over all processes, and go on in suspend.
//
// An operation has a record when it is begun, stamped *before* anything goes out (phase Asked), and one when its answer was
// read, stamped *after* that (phase Done). An operation without a second record may have happened, or may yet happen.
//
// # What is recorded of a hold
//
//	Acquire Asked     Value: the Way; before Lock is called
//	Acquire Queued    the store has said that somebody is in front
//	Acquire Done      Granted (Token; Value: valid until), Held (TryLock: somebody has it), GaveUp (the caller's own deadline), Guarded,
//	                  Failed (an error that says nothing about the outcome)
//	Hold    Renewed   Token, Value: valid until. No Attempt: it belongs to the hold of that Token, Lock and Process
//	Hold    Claimed   Value: the holder has looked, and believes that it holds until then
//	Hold    LossTold  its context has ended; Outcome: why
//	Release Asked     before Unlock is called
//	Release Done      OK, Lost (it was lost before), Failed
//
// Valid until is an Instant of the same clock; driver.Never where nothing runs out. An attempt is one call of Lock: its number is
// unique in a round. A process that is killed leaves attempts without an end: Process Killed tells when.
//
// # What is recorded of resources
//
// Two registers stand behind each lock, one that anybody may write and one behind a fence (flag Fenced). Whoever holds the lock reads a number,
// and writes the number one greater. The worker records Read and Write, Asked and Done, with Outcome OK (Value: the number),
// Stale (refused by the fence) or Failed; the registers' own process records what it did, in its order, as Apply: Op Read or Write with
// phase Applied, the attempt, the token and the number. A write of n that finds something else than n−1 has destroyed what it did not
// see: that is a lost update.
//
// # What is recorded of the world
//
//	Process Started, Stopped, Continued, Killed, Ended   of a worker process, by who did it. Stopped is stamped before the signal is sent,
//	                  Continued after it, Killed before. Value of Ended: its code
//	Process Starved   by the process itself, when it goes on: it did not get to run since Value, though nobody stopped it. Of
//	                  process 0: the store's server did not answer, since Value
//	Process Rest      at the end of a process: Value: how many goroutines (flag Goroutines) or descriptors (Descriptors) are left
//	                  beyond those at its start
//	Fault   Began     Lock is an index into Meta.Faults, Process whom it concerns (0: all), Value: how long in ns, if that is known
//	Fault   Healed    everything works again, and the server answers
//	Round   Began, Draining (workers begin nothing new), Drained (all have ended; absent: some never did), Leak (Value: how many things were
//	                  left in the store; their names are in Meta), Ended
package history
