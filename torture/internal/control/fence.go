package control

import (
	"time"

	"holdfast.dev/torture/internal/resource"
	"holdfast.dev/torture/internal/worker"
)

// n9: a lock alone. Its holder looks whether it still holds, and then stands still, with its write on the way: a long garbage collection,
// a virtual machine that is moved. Meanwhile another one gets the lock, reads, writes, and is done. Then the old write arrives. No
// lock can prevent that; only the register can, by refusing a token that is older than one that it has seen.
func n9() Control {
	return Control{
		Name: "N9", Title: "no fence, and a client that stands still",
		Wrong:  "The register takes what it is given: a write that comes after the next holder's destroys what that one has written.",
		Right:  "The register refuses a token that is less than the greatest that it has seen.",
		Caught: []string{"registers"},
		TTL:    300 * time.Millisecond, Duration: 1400 * time.Millisecond,
		Mix:   worker.Mix{Use: 100, Hot: 100, Think: 10 * time.Millisecond},
		Steps: every(150*time.Millisecond, 650*time.Millisecond, 2, Step{Do: StopWritingUntilWritten, For: 600 * time.Millisecond}),
		Gate:  resource.GateNone,
	}
}

// n10: a fence that only writes raise. The next holder has read, and not yet written, when the old write arrives: the fence has not seen
// the new token yet, and lets it through. Then the next holder writes what it has computed from a number that is no longer there.
func n10() Control {
	return Control{
		Name: "N10", Title: "a fence that is raised by writes only",
		Wrong:  "A read does not raise the fence: an old write can come between the next holder's read and its write, and is lost.",
		Right:  "Reads raise the fence as well: who has read has shut out everybody before it.",
		Caught: []string{"registers"},
		TTL:    300 * time.Millisecond, Duration: 1400 * time.Millisecond,
		Mix:   worker.Mix{Use: 100, Hot: 100, Think: 10 * time.Millisecond},
		Steps: every(150*time.Millisecond, 650*time.Millisecond, 2, Step{Do: StopWritingUntilRead, For: 600 * time.Millisecond}),
		Gate:  resource.GateWrites,
	}
}
