// Package check decides what the history of a round proves. It reads nothing but the history, so a bundle of years ago can be
// checked again, by a better checker.
//
// # What is checked
//
//	windows    No two holds of a lock overlap. A hold's windows are the stretches in which its holder believed that it held: from when the
//	           answer was read until release was asked for, loss was told, the process died, or validity ran out. Windows that touch are apart.
//	tokens     Unique per lock, never 0, and greater than those of all holds that were granted before this one was asked for. A renewal has
//	           the token of its hold. Nothing is checked of a store without tokens.
//	registers  A write of n finds n−1: otherwise somebody's update is lost. What a worker knows to be written was applied once; what
//	           was refused was not applied; what was read had been there meanwhile. The last three prove that the test itself works.
//	order      On stores that are first come first served nobody is served before somebody who was known to be in the queue
//	           before he asked; in stretches without faults, see order.go.
//	liveness   After a fault somebody gets the lock within TTL + 1 s + what the fault's guard takes, if somebody waits for it, or asks for it again
//	           and again; every live waiter is served in the end, and not with an error: see served.go.
//	leaks      Nothing is left in the store, no goroutine and no descriptor in a process, and no process ends with an error.
//	leaders    Never two at once, and terms rise: windows and tokens of locks that are elections.
//	told       A holder whose validity has ended, or whose hold the store has forgotten, is told.
//
// Checker 4, linearizability, is package linear.
//
// # What counts
//
// Meta.Class says whether the round's faults are within the store's assumptions. Beyond them two may hold a lock for a moment: there
// overlaps, overtaking and leaders at the same time are measured, and are no violations; tokens and fenced registers are held to their promise where
// Meta.Fencing is durable, and a store may refuse with an error while a fault is felt. Being told, liveness and leaks have no other excuse. Updates of unfenced registers that are lost are always
// measured only: no lock can prevent them. The same is true of fenced ones where a store has no tokens to fence with.
//
// # What is no history
//
// A checker that guesses proves nothing: records that contradict each other (an attempt that is answered twice, an answer to
// nothing) are an error of Round, not a violation. An operation without an answer is none of these: it may have happened.
package check
