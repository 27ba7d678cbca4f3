package redislock

import (
	"slices"

	"holdfast.dev/driver"
)

// ReplicaAssumptions is what the torture test holds this store to on a primary with replicas, with Sentinels or behind an address that
// moves: three servers, min-replicas-to-write 1 on each of them, a guard, nothing on disk.
func ReplicaAssumptions() []driver.Assumption {
	within := func(f driver.Fault, why string) driver.Assumption {
		return driver.Assumption{Fault: f, Class: driver.Within, Why: why}
	}
	moves := []driver.Assumption{
		within(driver.Failover, "the next primary grants nothing until every hold from before must have run out, whether it knows of it or not"),
		within(driver.FailoverCut, "the same: what was lost on the way to the replicas is among them"),
		within(driver.FailoverTwice, "the second reign begins a guard of its own"),
		within(driver.FailoverByHand, "as any failover: what a primary hands over is not trusted to be all"),
		within(driver.OldReturns, "a process that has just begun is a new reign, and without a replica it cannot be written to"),
		within(driver.OldIsolated, "it grants and renews only while a replica has lately proved that it follows; the next one is silent for longer than that"),
		within(driver.OldAgain, "every promotion is a new reign, also of a process that remembers an earlier one"),
		within(driver.ServerForget, "the guard, as without replicas"),
		within(driver.ServerStop, "what it answers when it goes on it must first have proved, and if it was replaced it cannot: its clock has gone on meanwhile. If that "+
			"stands still, too, with its machine, it is beyond, as Guarantees say"),
	}
	all := append(moves,
		within(driver.ReplicasCut, "it grants nothing while no replica proves that it follows, and goes on where it was"),
		within(driver.ReplicaStop, "one replica that proves it is enough"))
	var apart []driver.Fault
	for _, a := range moves {
		apart = append(apart, a.Fault)
	}
	for _, a := range Assumptions() {
		known := func(other driver.Assumption) bool { return other.Fault == a.Fault }
		switch {
		case a.Fault == driver.ServerKill: // nothing is on disk: see ServerForget
		case slices.ContainsFunc(all, known):
		case a.Fault == driver.ClockBack:
			all = append(all, driver.Assumption{Fault: a.Fault, Class: a.Class, Apart: apart,
				Why: "ends are brought back to what a TTL allows; tokens never fall while the primary stays the same. A server whose clock is behind by " +
					"more than the guard, and that becomes the primary, can give out lower ones, as Guarantees say"})
		default:
			all = append(all, a)
		}
	}
	return all
}
