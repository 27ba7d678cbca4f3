package scenario

import (
	"fmt"
	"time"
)

// Far is how much longer a round trip to a node takes in the scenarios in which nodes are far away.
const Far = time.Millisecond

// Fleets are the numbers of nodes that locks are kept in a majority of.
var Fleets = []int{5, 3}

// Of is the name of the scenario of that kind (solo, stopped, apart, crowd, crowd-1ms, strangers-1ms) on so many nodes, near or far.
func Of(kind string, nodes int, far bool) string {
	name := fmt.Sprintf("%s-of-%d", kind, nodes)
	if far {
		return name + "-far"
	}
	return name
}

// Majorities returns the scenarios of locks that are kept in a majority of several servers. What is compared with each other is side by side.
func Majorities() []Scenario {
	var all []Scenario
	for _, far := range []bool{false, true} {
		for _, nodes := range Fleets {
			all = append(all, majority(nodes, far)...)
		}
	}
	return all
}

func majority(nodes int, far bool) []Scenario {
	solo := Scenario{Name: "solo", Title: "1 goroutine, 1 lock", Goroutines: 1, Locks: 1, Clients: 1}
	stopped := solo
	stopped.Name, stopped.Title, stopped.Stopped, stopped.Healthy = "stopped", solo.Title+", one node stopped", true, Of("solo", nodes, far)
	apart := Scenario{Name: "apart", Title: "64 goroutines on 64 locks", Goroutines: 64, Locks: 64, Clients: 1}
	crowd := Scenario{Name: "crowd", Title: "64 goroutines on 1 lock, over 4 clients", Goroutines: 64, Locks: 1, Clients: 4}
	working := crowd
	working.Name, working.Title, working.Work = "crowd-1ms", crowd.Title+", 1 ms of work in each hold", time.Millisecond
	strangers := working
	strangers.Name, strangers.Title, strangers.Clients = "strangers-1ms", "64 goroutines on 1 lock, each with a client of its own, 1 ms of work in each hold", 64
	all := []Scenario{solo, stopped, apart, crowd, working, strangers}
	if nodes != 5 { // the others differ from five nodes in nothing but the figures
		all = []Scenario{solo, apart, working}
	}
	for i := range all {
		s := &all[i]
		s.Name, s.Title, s.Nodes = Of(s.Name, nodes, far), s.Title+fmt.Sprintf("; %d nodes", nodes), nodes
		if far {
			s.Far, s.Title = Far, s.Title+fmt.Sprintf(", each %v away", Far)
		}
		s.Times = times(*s)
	}
	return all
}

// times: who waits among 64 may wait for long, and a wait that is longer than the measurement could not be told from one that is not. What
// one goroutine alone does when nodes are far it does seldom: too seldom for a hundredth of it.
func times(s Scenario) int {
	switch {
	case s.Contended():
		return 6
	case s.Goroutines == 1 && s.Far > 0:
		return 4
	case s.Goroutines == 1:
		return 2
	}
	return 1
}
