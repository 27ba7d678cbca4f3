package torture

import "holdfast.dev/torture/internal/report"

// trackRecord is what torture has found in Holdfast so far. Each is kept as a test that fails without its mending.
var trackRecord = []report.Bug{
	{
		What: "A Lock was refused (\"the server is a read-only replica\") in a process that had opened the store just before its primary was demoted, and had " +
			"not locked anything yet.",
		Where:  "redislock",
		Found:  "holdfast torture --store redis-replicas --faults all --seed 602 --duration 22m --workers 16 --round 5",
		Mended: "Who was led to a primary when it was opened waits for the next one; a replica is refused by Open.",
		Test:   "redislock: TestOpenedBeforeTheFailover",
	},
	{
		What:   "With a TTL of 2 s, what a killed process left in the server (a place in a queue, a lock handed to it) stayed for up to 40 s.",
		Where:  "redislock",
		Found:  "holdfast torture --store redis --faults lose-requests,worker-stop,cut,late-request --seed 3 --duration 45s --workers 24",
		Mended: "A place lives for one and a half TTLs, and a contended lock's key an eighth longer than it is needed.",
		Test:   "redislock: TestHowLongKeysLive, TestEveryKeyRunsOut",
	},
	{
		What: "Two held a lock, for 1.3 ms: a server that had restarted without its data, at the end of a second, seemed to have been up for longer than its " +
			"guard, if that was not a whole number of seconds.",
		Where:  "redislock",
		Found:  "holdfast torture --store redis --faults all --seed 201 --duration 20m --workers 24 --round 41",
		Mended: "A server that says it has been up for a second may have been for a moment: one is subtracted.",
		Test:   "redislock: TestGuardAtTheEndOfASecond",
	},
	{
		What: "A Lock was refused because \"it was removed while somebody holds the lock\", though nobody had removed anything: a process had been killed, and " +
			"another that started just then cleared away what it had left.",
		Where:  "filelock",
		Found:  "holdfast torture --store file --seed 104 --duration 38m --workers 32, rounds 5, 11, 21 and 40",
		Mended: "The claims of whoever is not known to be dead are read again; and a claim is there only while its entry is.",
		Test:   "filelock: TestClearedWhileAsked, TestSlowToDie",
	},
	{
		What: "After the server's clock was set back, and its functions were flushed or it restarted, a lock whose holder had died was not served until " +
			"the clock had caught up: minutes.",
		Where:  "redislock",
		Found:  "holdfast torture --store redis --seed 22 --duration 8m --workers 32",
		Mended: "A hold's own record tells that the clock was later once: its end is brought back to what its TTL allows.",
		Test:   "redislock: TestClockBackDeadHolderForgotten",
	},
}
