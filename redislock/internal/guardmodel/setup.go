package guardmodel

// A Setup is a deployment. Times are in ticks.
type Setup struct {
	Nodes    int  // node A is the first primary, the others follow it
	Proofs   bool // min-replicas-to-write is set, and grants and renewals need proofs of contact
	TTL      int8 // of every hold
	Claim    int8 // how long a grant that was pushed waits for its claim; 0: nobody waits, nothing is pushed
	Lag      int8 // how old a proof may be; with Proofs only
	Overlap  int8 // without Proofs: how long a primary may live beside a newer one
	Slack    int8 // by which the fence is longer than Lag or Overlap
	Fresh    bool // the deployment is so new that nothing has been replicated: offsets are 0
	LateNeed bool // min-replicas-to-write was set later: the replicas' data does not say so yet
}

// Faults are how often each fault may happen, at any moment.
type Faults struct {
	Promotions int8 // Sentinel promotes a replica, also while the old primary lives
	Repoints   int8 // a node is told to follow the newest primary; the sync is partial, or full
	Backwards  int8 // the same, by hand, towards a primary that is not the newest: this breaks an assumption
	Failovers  int8 // FAILOVER: the primary waits for its replica, and changes places with it
	Crashes    int8
	Restarts   int8 // of what crashed: empty or with all its data; as a replica of the newest, or, if it was a primary, as a primary
	Deserters  int8 // a node that was a replica starts again as a primary: this breaks an assumption
	Snapshots  int8 // the data is saved, so that a restart can come with what is old by then
	Pauses     int8 // a primary stands still for a while (SIGSTOP, a virtual machine that moves)
	Flushes    int8 // FUNCTION FLUSH, and the library is loaded again
	Backlogs   int8 // the backlog of a primary that had no replicas for the guard is freed: a new id, and a second one of zeros
	SoonFreed  int8 // the same before the guard has passed (repl-backlog-ttl is shorter): this breaks an assumption
	Steps      int8 // a node's clock is set forward by more than the guard
	EmptySteps int8 // the same, while the node's data holds nothing, as when it has just started
	BackSteps  int8 // a node's clock is set back by a tick
	Lost       int8 // a grant is made, and the answer does not arrive in time
	Evictions  int8 // a hold's key is evicted, flushed or deleted: this breaks an assumption
	Skew       int8 // by how many ticks a replica's clock may be behind, so that holds last longer there
}

// The faults, as indexes of what is left of each.
const (
	promotions = iota
	repoints
	backwards
	failovers
	crashes
	restarts
	deserters
	snapshots
	pauses
	flushes
	backlogs
	soonFreed
	steps
	emptySteps
	backSteps
	lost
	evictions
	faultKinds
)

func (f Faults) budget() [faultKinds]int8 {
	return [faultKinds]int8{
		promotions: f.Promotions, repoints: f.Repoints, backwards: f.Backwards, failovers: f.Failovers,
		crashes: f.Crashes, restarts: f.Restarts, deserters: f.Deserters, snapshots: f.Snapshots, pauses: f.Pauses, flushes: f.Flushes,
		backlogs: f.Backlogs, soonFreed: f.SoonFreed,
		steps: f.Steps, emptySteps: f.EmptySteps,
		backSteps: f.BackSteps, lost: f.Lost, evictions: f.Evictions,
	}
}

// A Model is a deployment under rules, and what may happen to it.
type Model struct {
	Setup     Setup
	Rules     Rules
	Shortcuts Shortcuts
	Faults    Faults
}

// fence is how long a young reign is muted.
func (m *Model) fence() int8 {
	if m.Setup.Proofs {
		return m.Setup.Lag + m.Setup.Slack
	}
	return m.Setup.Overlap + m.Setup.Slack
}

// guard is how long a young reign grants nothing.
func (m *Model) guard() int8 {
	g := m.Setup.TTL + m.fence()
	if !m.Rules.WholeGuard {
		g--
	}
	return g
}

// setting is what min-replicas-to-write says on a node.
func (m *Model) setting(i int) int8 {
	switch {
	case !m.Setup.Proofs, !m.Rules.EveryNode && i != 0:
		return 0
	case m.Rules.Majority:
		return int8(m.Setup.Nodes / 2)
	default:
		return int8(m.Setup.Nodes/2) - 1
	}
}
