// Package locktest is the conformance kit: it checks a driver, rule by rule, against the real store.
//
// A driver's test is a small harness and one line:
//
//	func TestConformance(t *testing.T) {
//		locktest.Run(t, locktest.Harness{
//			Start: startServer, // brings a server up and returns its address
//			Open:  open,        // a new client of the server at that address
//		})
//	}
//
// # What it checks
//
// Every case has a name and a rule, and prints the rule when it fails. Rules are named by a letter and a number:
//
//   - A1…A7, R1…R4, L1…L4, B1…B3, K1…K5: the comments of [driver.Store], [driver.Lease], [driver.Breaker] and [driver.Keeper],
//     word by word; without a number, what is said there of Acquire, Release and Break in general.
//   - "the life of an attempt", "the race of …": the package comment of driver.
//   - G: [driver.Guarantees], [driver.Grant] and the other types of package driver.
//   - T1…T6, time: T1 a hold is valid until asked + TTL − margin, and no longer. T2 the store names the clock. T3 renewal is
//     answered by renewed, gone or unknown, and only renewed moves the deadline. T4 loss ends the hold's contexts with its
//     reason, Grace before the deadline where that is foreseeable, at the deadline at the latest. T5 the context of Lock bounds
//     only the wait. T6 a grant by push counts from the last moment at which it was not held.
//   - O1…O6, ownership: O1 an attempt's id is a secret. O2 what may have reached the store is undone. O3 re-entry nests and
//     never fans out; read inside write nests, write inside read is ErrUpgrade, permits never nest. O4 only its owner or Break ends
//     a hold. O5 Multi takes all or nothing, in one order for everybody, and losing a part is losing it. O6 MinHold is written
//     with the grant; only the holder's own hold tells that it leads.
//   - P1…P3, what programs hold: P1 an RWMutex is held by one writer or by any number of readers, whose tokens are in the order of
//     their turns. P2 of a Semaphore's permits no more are held than its limit, which is the same for everybody. P3 of an
//     Election's candidates one leads at a time; Run campaigns again after a loss, and finishes its work before it resigns.
//   - N, names: different names are different locks, and a bad name is refused before the store is touched.
//   - C, close: Close ends what is under way and leaves nothing behind.
//
// Topics are subtests, and cases are subtests of those: -run 'TestConformance/fencing/release' selects one.
//
//	exclusion    goroutines, clients, owners                 permits      limits, order, a TTL for each
//	processes    exclusion, kill −9, SIGSTOP                 reentry      nesting, siblings, strangers
//	expiry       take-over, and not before                   rwmutex      readers and writers, nested, their tokens
//	renewal      over many TTLs, Fixed, Extend, Check        semaphore    limits, order, no fence, no nesting
//	loss         its cause, Grace, MaxHold, promptness       multi        all or none, one order, parts, several stores
//	unknown      renewals without an answer                  election     one leader, in order, seen, again after a loss
//	fencing      tokens across everything                    names        different names, bad names
//	idempotence  an attempt asked for again                  errors       answers and no answers, secrets
//	undo         lost answers, late requests, crossing       keeping      MinHold
//	cancelling   leaves nothing behind                       inspection   who holds, who waits
//	order        first come first served                     breaking     gently, and at once
//	waking       the right one, once                         closing      what is under way, what is held
//	readers      together, fair, generations, TTLs           files        what keeps the holds of a killed process
//	validity     nothing that the store does not keep        denied       what Guarantees denies
//	leaks        goroutines, and what is left in the store
//
// What [driver.Guarantees] denies is checked too: it must answer ErrUnsupported. The cases that then do not apply are named in
// the log. They are not skipped tests: nothing here calls Skip.
//
// # How it judges time
//
// By arithmetic, never by stop-watch: a case compares instants of the store's own clock with what a grant or a hold promised. "Not
// before" is strict. "In the end" is bounded by [Patience] only, so that a busy machine fails nobody. Cases run beside each other,
// each with lock names of its own. A Run takes some 15 s, and longer where the shortest TTL of the store is long.
//
// # Processes
//
// Some cases need other processes: they kill them (kill −9) and stop them (SIGSTOP). Run starts its own test binary again, with
// just the running test selected; in there it does what it is told, and exits. What a test does before it calls Run is done in
// these processes too, so do nothing there; that is why the server is brought up by Start, which is not called in them.
//
// # Faults
//
// Some cases need a link that loses answers. Without [Harness.Link] the kit puts one between itself and the store that holds
// back calls. For a store with an address of the form host:port, [TCP] makes a real one.
package locktest
