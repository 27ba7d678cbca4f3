package redlock

import "holdfast.dev/driver"

// Assumptions is what the torture test holds this store to: three nodes or five, with a guard, nothing on disk, no other programs. What happens
// to the ways to the nodes may happen to those to one of them, to a minority's or to all.
//
// Beyond is what takes a hold from a node that goes on voting: a hold on g nodes survives it at g − majority of them. One that all nodes have
// granted survives it at a minority; but one may be on a bare majority just then, and nobody can know.
func Assumptions() []driver.Assumption {
	within := func(f driver.Fault, why string) driver.Assumption {
		return driver.Assumption{Fault: f, Class: driver.Within, Why: why}
	}
	beyond := func(f driver.Fault, why string) driver.Assumption {
		return driver.Assumption{Fault: f, Class: driver.Beyond, Why: why}
	}
	return []driver.Assumption{
		within(driver.WorkerStop, "its hold runs out at the nodes after it has for the client, by a clock that goes on meanwhile; between the two rounds "+
			"a node takes no token for what it does not have any more"),
		within(driver.WorkerStopInside, "the same; what is already on its way when it wakes the fence stops"),
		within(driver.WorkerStopWrite, "the same: no check of the holder's could have helped, and the fence refuses what arrives"),
		within(driver.WorkerKill, "its holds and votes run out"),
		within(driver.Starve, "validity is counted from before the first request: who is late loses time and nothing else"),
		within(driver.Cut, "every request can be repeated under its attempt; an unknown answer extends nothing"),
		within(driver.ResetInReply, "the same"),
		within(driver.Partition, "holds end for their holders before they do for the nodes"),
		within(driver.PartitionWorker, "the same"),
		within(driver.PartitionNode, "a majority is left"),
		within(driver.PartitionMajority, "nothing is granted and nothing renewed without a majority; what was granted is given back, or runs out"),
		within(driver.LoseRequests, "what a node was asked in vain it is asked again, or it is not counted"),
		within(driver.LoseReplies, "only an answer that arrives counts; a vote that nobody heard of is given back, or runs out"),
		within(driver.HalfOpen, "a silent connection is noticed, and nothing depends on messages"),
		within(driver.Delay, "validity is counted from before the first request"),
		within(driver.LateReply, "the time that the answers took is subtracted; a hold of which less than a tenth is left is none"),
		within(driver.LateRequest, "a tombstone refuses a try that was undone before; every try has a value of its own, so that its end is no other's"),
		within(driver.ServerForget, "the guard: the node does not vote until every hold that it may have voted for has run out; the clocks of the majority are "+
			"above every token that it has forgotten"),
		within(driver.ForgetMinority, "the same"),
		within(driver.ForgetMajority, "the same: nothing is granted until enough of them vote again"),
		within(driver.ForgetInTurn, "the same: each has a guard of its own"),
		within(driver.ServerStop, "as a partition; when it goes on its clock has gone on too"),
		within(driver.ClientKill, "as a cut"),
		within(driver.ScriptFlush, "no scripts are used"),
		within(driver.FunctionLoss, "the library is loaded again; what is held is in keys"),
		within(driver.ClockBack, "of one node: what it has lasts longer there, and a majority is left without it; for tokens a clock that is far from the "+
			"middle is not used"),
		beyond(driver.ClockForward, "of one node: its keys run out at once. A hold on a bare majority is lost by it, and told so at its next renewal"),
		beyond(driver.Flush, "of one node: the same"),
		beyond(driver.DeleteKey, "the same, for one lock"),
		beyond(driver.Evict, "the same; a server with noeviction never does it"),
		beyond(driver.BreakNow, "the lock is free at once; its holder is told, but may be in the middle of something"),
	}
}
