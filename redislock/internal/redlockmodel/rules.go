package redlockmodel

// Rules are the rules of Redlock as package redlock follows them, by the numbers of its package comment. AllRules is the specification; a
// test switches one off, and must then see something that must never be.
type Rules struct {
	// 1: done at the majority.

	Majority bool // more than half of the nodes must grant; off: half of them, rounded down

	// 2: fresh.

	Fresh bool // every try has a value of its own; off: all tries of an attempt have one

	// 3: validity.

	Elapsed bool // a hold counts from before its first request; off: from the last answer
	Sent    bool // so does a renewal; off: from the last answer

	// 4: tokens.

	SecondRound bool // a token is told to the nodes; off: it follows from the votes, and nobody is told
	Awaited     bool // and a hold needs a majority that has accepted it; off: that has been told it
	Owned       bool // a node accepts a token only while its key is the try's
	Counted     bool // who votes when the token is made is told it, but does not count for the majority that has it
	Middle      bool // a clock that is far from the middle is not used
	SomeClock   bool // a try whose votes all have such clocks fails
	OwnClock    bool // the client's own clock stands for nodes whose clocks it does not know
	OwnHalf     bool // and decides between two halves

	// 5: order.

	Order     bool // a release is sent when all requests of the try have been answered or given up
	Tombstone bool // if one was given up the release leaves a tombstone
	Always    bool // also where it has found the try; off: only where it has found nothing
	UpTo      bool // a tombstone is for a try and all before it; off: for that try alone, and the next one replaces it
	Heeded    bool // repairs respect it as votes do

	// 6: release.

	Everywhere bool // a failed try is released at all nodes; off: at those that are known to have granted

	// 8: renewal.

	OwnRound bool // answers count for the renewal that they answer; off: for the next one, too
	EndIsEnd bool // an answer that comes when the hold's time is over does not count; off: it does

	// 10: claim.

	HadPart  bool // what has ended is claimed only from nodes that had part in the token, and have kept the key since
	Accepted bool // and have accepted it; off: a vote that was not told a token yet counts, too

	// 9: repair.

	RepairAfter bool // only a renewal with its majority repairs; off: every renewal that finds a node without the hold
	RepairApart bool // what is repaired does not count for the renewal; off: a renewal takes a free key, and counts
	RepairToken bool // a repair brings the token

	// 11: the guard of each node.

	Guard        bool // a node that has lost its memory does not vote for a while
	WholeGuard   bool // for as long as the longest TTL; off: for a tick less
	GuardTakes   bool // nor does it accept tokens
	GuardRepairs bool // nor repairs
	GuardClaims  bool // nor is anything claimed from it
}

// AllRules is Redlock as it is specified.
func AllRules() Rules {
	return Rules{
		Majority: true, Fresh: true, Elapsed: true, Sent: true,
		SecondRound: true, Awaited: true, Owned: true, Counted: true, Middle: true, SomeClock: true, OwnClock: true, OwnHalf: true,
		Order: true, Tombstone: true, Always: true, UpTo: true, Heeded: true, Everywhere: true,
		OwnRound: true, EndIsEnd: true, HadPart: true, Accepted: true, RepairAfter: true, RepairApart: true, RepairToken: true,
		Guard: true, WholeGuard: true, GuardTakes: true, GuardRepairs: true, GuardClaims: true,
	}
}
