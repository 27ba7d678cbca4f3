package redislock

import "holdfast.dev/driver"

// Assumptions is what the torture test holds this store to: one server, with a guard, that evicts nothing.
func Assumptions() []driver.Assumption {
	within := func(f driver.Fault, why string) driver.Assumption {
		return driver.Assumption{Fault: f, Class: driver.Within, Why: why}
	}
	beyond := func(f driver.Fault, why string) driver.Assumption {
		return driver.Assumption{Fault: f, Class: driver.Beyond, Why: why}
	}
	return []driver.Assumption{
		within(driver.WorkerStop, "its hold runs out in the server after it has for the client, by a clock that goes on meanwhile"),
		within(driver.WorkerStopInside, "the same; what is already on its way when it wakes the fence stops"),
		within(driver.WorkerStopWrite, "the same: no check of the holder's could have helped, and the fence refuses what arrives"),
		within(driver.WorkerKill, "its holds run out; its places in queues are passed over"),
		within(driver.Starve, "validity is counted from before the request: who is late loses time and nothing else"),
		within(driver.Cut, "every request can be repeated under its attempt; an unknown answer extends nothing"),
		within(driver.ResetInReply, "the same"),
		within(driver.Partition, "holds end for their holders before they do for the server"),
		within(driver.PartitionWorker, "the same"),
		within(driver.LoseRequests, "the same"),
		within(driver.LoseReplies, "only an answer that arrives extends a hold"),
		within(driver.HalfOpen, "a silent connection is noticed, and nothing depends on messages"),
		within(driver.Delay, "validity is counted from before the request"),
		within(driver.LateReply, "an answer counts from when its request went out, however late it is"),
		within(driver.LateRequest, "a tombstone refuses an attempt that was undone before"),
		within(driver.ServerKill, "what was granted is on disk or its guard passes before anybody else is served"),
		within(driver.ServerForget, "the guard: nothing is granted until every hold from before must have run out; tokens rise with the clock"),
		within(driver.ServerStop, "as a partition; when it goes on its clock has gone on too"),
		within(driver.ClientKill, "as a cut"),
		within(driver.ScriptFlush, "no scripts are used"),
		within(driver.FunctionLoss, "the library is loaded again; what is held is in keys"),
		{Fault: driver.ClockBack, Class: driver.Within,
			Why: "ends are brought back to what a TTL allows; tokens never fall, because the server, or its data, remembers the last. One that has " +
				"restarted without its data does not: if its clock is set back by more than the guard tokens can fall, as Guarantees say",
			Apart: []driver.Fault{driver.ServerForget}},
		beyond(driver.ClockForward, "keys run out at once; holders are told at their next renewal"),
		beyond(driver.Flush, "holds are forgotten; holders are told at their next renewal"),
		beyond(driver.DeleteKey, "the same, for one lock"),
		beyond(driver.Evict, "the same; a server with noeviction never does it"),
		beyond(driver.BreakNow, "the lock is free at once; its holder is told, but may be in the middle of something"),
	}
}
