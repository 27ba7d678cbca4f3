package scenario

import (
	"fmt"
	"time"
)

// Far is how much longer a round trip to a node takes in the scenarios in which nodes are far away.
const Far = time.Millisecond

// Fleets are the numbers of nodes that locks are kept in a majority of.
var Fleets = []int{5, 3, 1}

// Of is the name of the scenario of that kind (solo, stopped, apart, crowd, strangers) on so many nodes, near or far.
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
	place := fmt.Sprintf("%d nodes", nodes)
	if nodes == 1 {
		place = "1 node"
	}
	all := []Scenario{{Name: "solo", Title: "1 goroutine, 1 lock", Goroutines: 1, Locks: 1, Clients: 1}}
	if nodes == 5 {
		stopped := all[0]
		stopped.Name, stopped.Title, stopped.Stopped, stopped.Healthy = "stopped", stopped.Title+", one node stopped", true, Of("solo", nodes, far)
		all = append(all, stopped)
	}
	all = append(all,
		Scenario{Name: "apart", Title: "64 goroutines on 64 locks", Goroutines: 64, Locks: 64, Clients: 1},
		Scenario{Name: "crowd", Title: "64 goroutines on 1 lock, over 4 clients", Goroutines: 64, Locks: 1, Clients: 4})
	if nodes == 5 {
		all = append(all, Scenario{Name: "strangers", Title: "64 goroutines on 1 lock, each with a client of its own", Goroutines: 64, Locks: 1, Clients: 64})
	}
	for i := range all {
		s := &all[i]
		s.Name, s.Title, s.Nodes, s.Times = Of(s.Name, nodes, far), s.Title+"; "+place, nodes, times(*s)
		if far {
			s.Far, s.Title = Far, s.Title+fmt.Sprintf(", each %v away", Far)
		}
	}
	return all
}

// times: who waits among 64 may wait for long, and a wait that is longer than the measurement could not be told from one that is not. What
// one goroutine alone does when nodes are far, or one of them stands still, it does seldom: too seldom for a hundredth of it.
func times(s Scenario) int {
	switch {
	case s.Contended():
		return 3
	case s.Goroutines == 1:
		return 2
	}
	return 1
}
