package recovery

import (
	"context"
	"time"

	"holdfast.dev/bench/internal/choose"
	"holdfast.dev/bench/internal/deployment"
)

// A Case is a deployment, and what happens to its primary.
type Case struct {
	Name, Title string

	nodes            int
	sentinels, keeps bool

	down func(*deployment.Deployment, context.Context) error // takes the primary away
	up   func(*deployment.Deployment, context.Context) error // brings another, or waits for it
}

// Replicated reports whether the primary has replicas.
func (c Case) Replicated() bool { return c.nodes > 1 }

func (c Case) settings(t Timing) deployment.Settings {
	s := deployment.Settings{Nodes: c.nodes, Sentinels: c.sentinels, Keeps: c.keeps}
	if c.Replicated() {
		s.MaxLag = t.MaxLag
	}
	return s
}

// Cases returns all of them. Those with replicas have three nodes: of two one would be left, which writes nothing alone.
func Cases() []Case {
	type d = deployment.Deployment
	return []Case{
		{"restart-empty", "one server, nothing kept: kill −9, started again", 1, false, false, (*d).Kill, (*d).Restart},
		{"restart-kept", "one server, appendfsync always: kill −9, started again", 1, false, true, (*d).Kill, (*d).Restart},
		{"shutdown", "one server, appendfsync always: SIGTERM, started again", 1, false, true, (*d).Terminate, (*d).Restart},
		{"promote", "three nodes: kill −9, a replica is promoted at once", 3, false, false, (*d).Kill, (*d).Promote},
		{"hand-over", "three nodes: FAILOVER, and the address moves", 3, false, false, (*d).HandOver, (*d).Promote},
		{"sentinel", "three nodes, three Sentinels: kill −9", 3, true, false, (*d).Kill, (*d).Succeed},
		{"sentinel-shutdown", "three nodes, three Sentinels: SIGTERM", 3, true, false, (*d).Terminate, (*d).Succeed},
	}
}

// SelectCases returns those of the names, in the order of all; no names are all of them.
func SelectCases(names []string) ([]Case, error) {
	return choose.Named("case", Cases(), func(c Case) string { return c.Name }, names)
}

// A Timing is a guard, and what goes with it.
type Timing struct {
	Name   string
	TTL    time.Duration
	Alone  time.Duration // the guard of a server without replicas
	Guard  time.Duration // the guard with replicas
	MaxLag int           // min-replicas-max-lag in seconds, with replicas; 0: what Redis has by itself
}

func (t Timing) guard(c Case) time.Duration {
	if c.Replicated() {
		return t.Guard
	}
	return t.Alone
}

// Timings returns all of them. The shortest guard for a TTL is that TTL; with replicas, and that and a fence: as long as an old primary may
// not know that it is none, which min-replicas-max-lag sets, and 2 s. Without a guard it is seen what the deployment itself needs.
func Timings() []Timing {
	return []Timing{
		{Name: "off", TTL: 10 * time.Second},
		{Name: "shortest", TTL: time.Second, Alone: time.Second, Guard: 4 * time.Second, MaxLag: 1},
		{Name: "10s", TTL: 5 * time.Second, Alone: 10 * time.Second, Guard: 10 * time.Second},
		{Name: "30s", TTL: 10 * time.Second, Alone: 30 * time.Second, Guard: 30 * time.Second},
	}
}

// SelectTimings returns those of the names, in the order of all; no names are all of them.
func SelectTimings(names []string) ([]Timing, error) {
	return choose.Named("timing", Timings(), func(t Timing) string { return t.Name }, names)
}
