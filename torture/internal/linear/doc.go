// Package linear checks whether a history is one of a lock at all: whether there is an order of everything that was seen in which one lock,
// used by one after the other, would have said the same. It is linearizability, decided by porcupine, for locks whose holds can end by
// themselves and whose answers can get lost.
//
// # The model
//
// Each lock is checked by itself. It is free, or somebody has it, and it remembers the last token. An operation takes effect at one moment
// between its Call and its Return:
//
//	grant      only if the lock is free, and with a token greater than the last. From Asked to Answered
//	end        of a hold: it has the lock, and after that the lock is free. Nobody sees this moment: it is a pseudo-operation, with
//	           the token and the number of renewals, from the first moment at which the store may have let go to the last
//	refused    an answer Held: only if somebody has the lock, or may have it, or waits for it. From Asked to Answered
//
// Where Meta.Fencing is none, tokens are not compared.
//
// # When a hold ends
//
// Not before the holder asked for the release, was told of a loss, or the last moment that it was ever promised had come (its last
// valid-until; a promise that had run out when it was learned is none): a store that lets go earlier has broken its promise, and that is what we look for. Where holds do not run out it can also
// end when its process dies: the kernel takes it away.
//
// Not after the answer OK to the release; nor after the answer to a grant that came later, because that was only possible when the
// hold was over; nor after the end of the round. A release that failed or said Lost, or had no answer, is no bound.
//
// # Attempts that nobody knows the outcome of
//
// An attempt that gave up, failed, has no answer, or died may have been granted, unseen, and may yet be. Such a hold has no token
// that anybody saw, lets nothing happen that could not happen without it, and shows in one way only: others are refused. So it is not an
// operation that has to have its place: it is a reason that a refusal may have, if the lock is free otherwise. Each attempt is one reason
// with an id of its own, and was granted once: when the lock has been granted to somebody else since, it is used up, and cannot be the
// reason again. Where several attempts could be the reason of several refusals, there must be a different one for each: that is a matching, and is
// decided as such.
//
// While an attempt is waiting it is a reason as often as you like: a lock that is served in turn refuses a try if somebody is in front,
// and a waiter can have been granted the lock, have lost it before it learned of it, and be waiting again. For the same reason an attempt
// that was granted stays a reason until its release is confirmed; and a try that took as long as a TTL may have had, and lost, what it asked for.
//
// How long can it be a reason? It is over when everybody has stopped asking for it, everything works, messages that were on their way have
// come, and the TTL has passed. (An answer Held ends it at once, but not in a fault: then it may have been asked for twice, and the first
// request may come after the answer to the second.) Messages take no longer than two TTLs, in a network that works; so it is three TTLs after the last
// moment of the attempt, or after the end of the last fault or stop that reaches into this time, of those that concern its process.
//
// # Narrowing, and cuts
//
// On a busy lock somebody is always waiting, and all grants overlap: from Asked to Answered. But most of such a stretch is impossible. If h was
// answered before g can have ended, g was not before h; then h was, and g was not granted before h could end. The same follows from
// tokens; and a grant is before its end. What is cut away by this is in no legal order, so a history is linearizable if and only if it is after that.
//
// Then there are many moments at which no operation is open. What happened before such a moment is before all that comes after it,
// in every legal order, and who has the lock then, with which last token, is known: the lock is cut into segments there, each of which begins where the one
// before ended. Segments are small, and a million operations take seconds. Reasons do not last over a cut: that allows more than it should, and never less.
//
// Within a segment a grant is not tried before those with smaller tokens, which no legal order has after it: the search would find that out in the end.
//
// A segment that is not decided within the limit is a violation: a checker that does not know must not say yes.
//
// # Why it is sound
//
// Every rule lets through what a right lock can do under the faults of a run within its assumptions: times are stamped before a request and
// after its answer, so the true moment lies between; bounds of ends use only promises and confirmations; unknown outcomes only ever
// excuse. Two things are taken for granted. All stamps are of one clock. And an attempt that has a confirmed release holds no more: a store that could
// grant a repeated request of it afterwards would need a longer excuse. Where two tries can refuse each other while nobody has the lock, as on a quorum
// of independent servers (Meta.Votes), a refusal is no operation: it says nothing about the lock.
//
// It does not ask for overlap beyond assumptions: in rounds of class beyond a lock may have two holders, and the caller does not ask.
package linear
