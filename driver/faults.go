package driver

// A Fault is something that can happen to a store, to the way to it, or to its clients. The torture test causes each of them for
// real; a driver says of those that concern its store whether it survives them: see Assumption.
type Fault string

// Faults of clients.
const (
	WorkerStop       Fault = "worker-stop"        // a process stands still (SIGSTOP), wherever it is, for half a TTL to three
	WorkerStopInside Fault = "worker-stop-inside" // it stands still between reading and writing what the lock protects
	WorkerStopWrite  Fault = "worker-stop-write"  // it stands still with its write on the way, which arrives when the next holder has read
	WorkerKill       Fault = "worker-kill"        // a process is killed (kill −9), wherever it is
	Starve           Fault = "starve"             // the machine has more to do than it can
)

// Faults of the way to the store.
const (
	Cut             Fault = "cut"              // every connection is reset
	ResetInReply    Fault = "reset-in-reply"   // connections are reset in the middle of an answer
	Partition       Fault = "partition"        // nobody reaches the store: silence, and no new connections
	PartitionWorker Fault = "partition-worker" // one process does not
	LoseRequests    Fault = "lose-requests"    // what clients send does not arrive; answers would
	LoseReplies     Fault = "lose-replies"     // the store does what it is asked, and nobody hears of it
	HalfOpen        Fault = "half-open"        // the store's side of a connection has ended, and the client's does not know
	Delay           Fault = "delay"            // every message takes a while, each another
	LateReply       Fault = "late-reply"       // answers arrive after the TTL
	LateRequest     Fault = "late-request"     // requests arrive after their sender has given up its connection, and has undone them
)

// Faults of the store's servers.
const (
	ServerKill   Fault = "server-kill"   // killed (kill −9), and started again with its data: at once, within a TTL, after it
	ServerForget Fault = "server-forget" // killed, and started again without
	ServerStop   Fault = "server-stop"   // it stands still
	ClientKill   Fault = "client-kill"   // the server ends all connections
	ScriptFlush  Fault = "script-flush"  // the server forgets its scripts
	FunctionLoss Fault = "function-loss" // the server forgets its functions
	ClockBack    Fault = "clock-back"    // the server's clock is set back by seconds to minutes
	ClockForward Fault = "clock-forward" // the server's clock is set forward by more than a TTL
)

// Faults of a store whose servers have roles: a primary, which is written to, and replicas, which follow it a little later.
const (
	Failover       Fault = "failover"         // the primary is killed, and a replica takes its place
	FailoverCut    Fault = "failover-cut"     // the same, and no replica has the primary's newest writes
	FailoverTwice  Fault = "failover-twice"   // the one that has taken its place is killed as well, soon
	FailoverByHand Fault = "failover-by-hand" // the primary hands over to a replica while both are well
	OldReturns     Fault = "old-returns"      // the old primary starts again, empty, and can be written to until it is told that it is a replica
	OldIsolated    Fault = "old-isolated"     // only clients reach the primary: it is replaced, and returns without ever having ended
	OldAgain       Fault = "old-again"        // a primary becomes a replica and then the primary again, in one life
	ReplicasCut    Fault = "replicas-cut"     // no replica hears from the primary for a while; nobody takes its place
	ReplicaStop    Fault = "replica-stop"     // a replica stands still
)

// Faults of a store that is several independent servers, of which a majority must agree: its nodes. What happens to a server, above, happens
// to one of them there; what happens to the way to the store, to the ways to one, to as many as a majority can do without, or to all.
const (
	PartitionNode     Fault = "partition-node"     // nobody reaches one of them
	PartitionMajority Fault = "partition-majority" // nobody reaches a majority of them
	ForgetInTurn      Fault = "forget-in-turn"     // one after the other is killed, and started again without its data
	ForgetMinority    Fault = "forget-minority"    // as many as a majority can do without are killed at once, and started again without their data
	ForgetMajority    Fault = "forget-majority"    // the same, of so many that no majority is left
)

// What an administrator can do.
const (
	Flush     Fault = "flush"      // all data is deleted (FLUSHALL)
	DeleteKey Fault = "delete-key" // what one lock is kept in is deleted
	Evict     Fault = "evict"      // the memory is full, and what a lock is kept in is thrown out
	Unlink    Fault = "unlink"     // the file of a lock is unlinked
	BreakNow  Fault = "break-now"  // a hold is broken at once: Break with Now
)

// Class says on which side of a store's assumptions a fault is.
type Class uint8

const (
	// Within: nobody holds a lock together with anybody else, whatever the fault.
	Within Class = iota + 1

	// Beyond: the next holder can come before the news does. Two hold for a moment; the first is told within one renewal interval, and
	// a fenced resource loses nothing where Guarantees.Fencing is durable.
	Beyond
)

func (c Class) String() string {
	switch c {
	case Within:
		return "within"
	case Beyond:
		return "beyond"
	}
	return "unknown"
}

// An Assumption says what a fault does to a store. Each driver lists its own, in a function Assumptions: the list is the claim that
// the torture test holds the driver to. A fault moves from one class to the other when the store's protocol has changed, and for
// no other reason; never because a run found a violation.
type Assumption struct {
	Fault Fault
	Class Class
	Why   string // it is survived, or what happens instead

	// Apart are faults that this one is survived without, and not together with: Guarantees.Beyond says so.
	Apart []Fault
}
