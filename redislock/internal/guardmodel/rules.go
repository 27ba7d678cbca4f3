package guardmodel

// Rules are the rules of the guard. AllRules is the specification; a test switches one off, and must then see two holders. The numbers
// are those of docs/safety.md.
type Rules struct {
	// Rule 1: how long.

	WholeGuard bool // the guard lasts for the longest TTL and the fence; off: a tick less

	// Rule 2: when a reign begins.

	NewID          bool // a new id is a new reign; off: the library goes on with what it knew of the last one
	LostMemory     bool // lost memory is a new reign; off: it is taken for a FUNCTION FLUSH, which forgets nothing
	ExactMarker    bool // the data's marker must name this very id; off: that it names any is enough
	NeverOffset    bool // "never replicated" needs the offset 0; off: the other conditions are enough
	NeverSecondID  bool // "never replicated" needs a second id of zeros
	NeverUptime    bool // "never replicated" needs to be up for longer than the guard
	NeverAlone     bool // "never replicated" counts only where grants need no proof of contact
	NeverConnected bool // "never replicated" needs that no replica is connected; a belt, see the tests

	// Rule 3: what a young reign refuses.

	Muted      bool // for the fence neither renewals nor grants; off: renewals from the first call on
	NoGrant    bool // no grant to who asks
	NoHandOver bool // a release frees, and hands nothing over
	NoTakeOver bool // what has run out does not go to who waits
	NoClaim    bool // a push is not claimed: who does not know yet that it holds is not told
	NoRepeat   bool // nor is who repeats a request whose answer was lost

	// Rule 4: whose time counts.

	StartAtWrite  bool // the guard's clock never starts at a read
	StartProven   bool // it starts at a call whose contact is proved; off: at the first write
	CreditProven  bool // only such calls credit time; off: every write does, once it has started. A belt, see the tests
	BoundedCredit bool // a call credits a tick at most; off: all the time that the node's wall clock says has passed

	// Rule 5: contact.

	Majority    bool // grants need ⌊nodes/2⌋ replicas; off: one less
	EveryNode   bool // on every node; off: only on the first primary
	ByOffsets   bool // contact is proved by offsets; off: by lag, which is stamped when an acknowledgement is read
	FreshProofs bool // a new reign begins without proofs; off: those of the same process's last reign count
	OwnNeed     bool // a node knows by its own settings how many proofs it needs; off: by its data, which can lag behind

	// Not part of the guard: with this, and a fence of twice the lag, demoted nodes might come back as primaries (Deserters).

	Unbroken bool // contact that was lost, and has come back over a new link, begins a new reign
}

// AllRules is the guard as it is specified.
func AllRules() Rules {
	return Rules{
		WholeGuard: true,
		NewID:      true, LostMemory: true, ExactMarker: true,
		NeverOffset: true, NeverSecondID: true, NeverUptime: true, NeverAlone: true, NeverConnected: true,
		Muted: true, NoGrant: true, NoHandOver: true, NoTakeOver: true, NoClaim: true, NoRepeat: true,
		StartAtWrite: true, StartProven: true, CreditProven: true, BoundedCredit: true,
		Majority: true, EveryNode: true, ByOffsets: true, FreshProofs: true, OwnNeed: true,
	}
}

// Shortcuts are ways to shorten the guard that look safe and are not.
type Shortcuts struct {
	Seal         bool // a primary seals its reign before it goes; the successor of a sealed reign is open at once
	LongestTTL   bool // the guard lasts for the longest TTL that the data knows of, and the fence
	UptimeAlone  bool // a process that has been up for longer than the guard is open
	ZeroSecondID bool // a second id of zeros, and an uptime above the guard, is taken for "never replicated"
}
