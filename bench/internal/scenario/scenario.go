// Package scenario lists what the contenders are made to do.
package scenario

import (
	"fmt"
	"time"

	"holdfast.dev/bench/internal/choose"
)

// A Scenario is a number of goroutines that lock, work and unlock in a loop, as fast as they can.
type Scenario struct {
	Name       string
	Title      string
	Goroutines int
	Locks      int // goroutine i uses lock i modulo Locks
	Clients    int // goroutine i uses client i modulo Clients
	Work       time.Duration
	// Times is how many times as long as others it is measured. Where all goroutines together have a thousand turns in a second, shares of
	// one turn more or less would look unfair if each had only a few.
	Times int
	// Guard: it is about what the guard costs. Only ours run it, with the guard and without; nobody with a guard runs the others.
	Guard bool
	// Replica: the server has a replica, which must have followed for it to write.
	Replica bool
	// Nodes: the lock is in a majority of so many independent servers. 0: it is on one server, which is not about majorities.
	Nodes int
	// Far is how much longer than on this machine a round trip to each of them takes.
	Far time.Duration
	// Stopped: one of them stands still. Healthy is the name of the same scenario without that.
	Stopped bool
	Healthy string
}

// Contended reports whether anybody ever waits for somebody else.
func (s Scenario) Contended() bool { return s.Locks < s.Goroutines }

// Crowds are the sizes of crowds.
var Crowds = []int{8, 64, 256, 1024}

const work = time.Millisecond

// Crowd is the name of the scenario in which so many want one lock, empty or with work.
func Crowd(goroutines int, working bool) string {
	if working {
		return fmt.Sprintf("crowd-%d-1ms", goroutines)
	}
	return fmt.Sprintf("crowd-%d", goroutines)
}

// Strangers is the name of the scenario in which so many want one lock, each with a client of its own, as processes would: every hand-over
// goes through the server.
func Strangers(goroutines int) string { return fmt.Sprintf("strangers-%d", goroutines) }

// guards is what the guard is tried with, on a server alone and on one with a replica.
func guards() []Scenario {
	var all []Scenario
	for _, replica := range []bool{false, true} {
		for _, s := range []Scenario{
			{Name: "guard-solo", Title: "1 goroutine, 1 lock", Goroutines: 1, Locks: 1, Clients: 1},
			{Name: "guard-crowd", Title: "64 goroutines on 1 lock, over 4 clients", Goroutines: 64, Locks: 1, Clients: 4},
			{Name: "guard-strangers", Title: "8 goroutines on 1 lock, each with a client of its own", Goroutines: 8, Locks: 1, Clients: 8},
		} {
			s.Guard, s.Replica, s.Times = true, replica, 1
			if replica {
				s.Name, s.Title = s.Name+"-replica", s.Title+"; the server has a replica"
			}
			all = append(all, s)
		}
	}
	return all
}

// Guards are the names of the scenarios that are about the guard.
func Guards() []string {
	var names []string
	for _, s := range guards() {
		names = append(names, s.Name)
	}
	return names
}

// All returns every scenario.
func All() []Scenario {
	all := []Scenario{
		{Name: "solo", Title: "1 goroutine, 1 lock", Goroutines: 1, Locks: 1, Clients: 1, Times: 1},
		{Name: "apart", Title: "64 goroutines on 64 locks", Goroutines: 64, Locks: 64, Clients: 1, Times: 1},
	}
	for _, n := range Crowds {
		title := fmt.Sprintf("%d goroutines on 1 lock, over 4 clients", n)
		all = append(all,
			Scenario{Name: Crowd(n, false), Title: title, Goroutines: n, Locks: 1, Clients: 4, Times: 1},
			Scenario{Name: Crowd(n, true), Title: title + ", 1 ms of work in each hold", Goroutines: n, Locks: 1, Clients: 4,
				Work: work, Times: turns(n)})
	}
	for _, n := range Crowds {
		title := fmt.Sprintf("%d goroutines on 1 lock, each with a client of its own", n)
		all = append(all, Scenario{Name: Strangers(n), Title: title, Goroutines: n, Locks: 1, Clients: n, Times: 1})
	}
	return append(all, guards()...)
}

// turns makes crowd-256-1ms last four times as long: a share within a tenth of another needs ten turns for each, with room to spare. A
// thousand goroutines have no bar for shares, and would need a minute.
func turns(goroutines int) int {
	if goroutines == 256 {
		return 4
	}
	return 1
}

// Select returns those of the names, in the order of all; no names are all of them.
func Select(all []Scenario, names []string) ([]Scenario, error) {
	return choose.Named("scenario", all, func(each Scenario) string { return each.Name }, names)
}
