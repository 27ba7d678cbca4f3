package control

import (
	"time"

	"holdfast.dev/driver"
)

// A Step is one fault of a round, and when it comes.
type Step struct {
	At time.Duration // from the beginning of the round
	Do Action

	// For is how long it lasts; of StopWriting how long at most.
	For time.Duration
}

// An Action is what a step does. Each is a fault that a run can have by chance; here it hits where it hurts, so that two seconds are
// enough with every seed. None of them depends on which of the two locks is under it.
type Action uint8

// The actions.
const (
	// StopInside stops the process (SIGSTOP) whose worker is the next to read the fenced register, before that read is answered; after For
	// it goes on.
	StopInside Action = iota + 1

	// StopWritingUntilRead stops the process whose worker is the next to write to the fenced register, when the write has arrived there, and
	// keeps the write. As soon as a worker of another process has read that register, the write is carried out, before the reader is
	// answered, and the process goes on. So the holder has looked whether it still holds, and could not look again.
	StopWritingUntilRead

	// StopWritingUntilWritten is the same, but the write is carried out as soon as another process has written.
	StopWritingUntilWritten

	// KillInside kills the process (kill −9) whose worker is the next to read the fenced register. It is not started again.
	KillInside

	// KillAcquired arms one process: it kills itself (kill −9) when it comes to the point Acquired for the next time. See Options.Reached.
	KillAcquired

	// HoldInside keeps back what one process sends to the server, from the moment at which its worker is the next to read the fenced
	// register; after For all of it goes on, in its order, on the same connections (netfault: HoldRequests, Resume).
	HoldInside

	// LoseReplies throws away what the server answers, to everybody, and resets the connections after For (netfault: Blackhole of
	// Replies, Heal).
	LoseReplies

	// ForgetServer kills the server and starts it again at once, with empty memory. For is 0.
	ForgetServer

	// FailoverCut cuts the primary off from its replicas, while clients still reach it. After For it is killed, as soon as the next worker has
	// read the fenced register; a replica is promoted, and clients are sent there. It needs Control.Replicas.
	FailoverCut

	// ForgetVoter needs three servers. It turns everybody away from the last one; so after For whoever holds has the votes of the two others, and no
	// more. As soon as the next worker has read the fenced register, the second is killed and starts again, with empty memory, and
	// the last one can be reached again.
	ForgetVoter

	// HoldAnswers keeps back what all servers answer to every second process; after For all of it goes on (netfault: HoldReplies, Resume).
	HoldAnswers

	// SplitVoters lets one half of the processes reach the first half of the servers only, and the other half the other, until For is over.
	SplitVoters
)

var actions = map[Action]struct {
	name  string
	fault driver.Fault
}{
	StopInside:              {"stop inside", driver.WorkerStopInside},
	StopWritingUntilRead:    {"stop writing until read", driver.WorkerStopInside},
	StopWritingUntilWritten: {"stop writing until written", driver.WorkerStopInside},
	KillInside:              {"kill inside", driver.WorkerKill},
	KillAcquired:            {"kill acquired", driver.WorkerKill},
	HoldInside:              {"hold inside", driver.Delay},
	LoseReplies:             {"lose replies", driver.LoseReplies},
	ForgetServer:            {"forget server", driver.ServerForget},
	FailoverCut:             {"failover cut", driver.FailoverCut},
	ForgetVoter:             {"forget voter", driver.ServerForget},
	HoldAnswers:             {"hold answers", driver.LateReply},
	SplitVoters:             {"split voters", driver.Partition},
}

func (a Action) String() string { return actions[a].name }

// Fault is what the action is called in histories.
func (a Action) Fault() driver.Fault { return actions[a].fault }

// every returns a step again and again: n of them, from first on, so much apart.
func every(first, apart time.Duration, n int, s Step) []Step {
	steps := make([]Step, n)
	for i := range steps {
		steps[i] = s
		steps[i].At = first + time.Duration(i)*apart
	}
	return steps
}
