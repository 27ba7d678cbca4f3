// Package result is the document that a run of the program ends with: every repetition's figures, and what they come to.
//
// Ratios are computed within a repetition, between measurements that were made within seconds of each other, and only then is the
// X for every figure by itself: a contender is compared with the highest throughput of any peer, and
// with the shortest wait of any peer, though these may be two.
package result

import (
	"slices"
	"time"

	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/figure"
	"holdfast.dev/bench/internal/measure"
	"holdfast.dev/bench/internal/scenario"
)

// A Document is everything that a run has found.
type Document struct {
	Began     time.Time         `json:"began"`
	Machine   Machine           `json:"machine"`
	Server    Server            `json:"server"`
	Libraries map[string]string `json:"libraries"` // versions of modules
	Runs      int               `json:"runs"`
	For       string            `json:"for"`
	Warm      string            `json:"warm"`
	Scenarios []*Scenario       `json:"scenarios"`
	Scale     *Scale            `json:"scale,omitempty"`
	Bars      []Verdict         `json:"bars"`
}

// A Machine is where it ran.
type Machine struct {
	System     string `json:"system"`
	Processors int    `json:"processors"`
	Model      string `json:"model,omitempty"`
	Load       string `json:"load,omitempty"` // before it began, over 1, 5 and 15 minutes
	Go         string `json:"go"`
}

// A Server is what it ran against.
type Server struct {
	Product string `json:"product"`
	Version string `json:"version"`
	Own     bool   `json:"own"`             // started for this run, and used by nothing else
	Nodes   int    `json:"nodes,omitempty"` // there are so many of them, independent of each other
}

// A Scenario has the contenders that ran it.
type Scenario struct {
	Name       string       `json:"name"`
	Title      string       `json:"title"`
	Nodes      int          `json:"nodes,omitempty"`   // of whose majority locks are kept in; 0: it is not about majorities
	Healthy    string       `json:"healthy,omitempty"` // the same without trouble
	Contenders []*Contender `json:"contenders"`
}

// A Contender has its repetitions, and what they come to. Ratios to the limit are missing where that does not run.
type Contender struct {
	Name      string         `json:"name"`
	Role      contender.Role `json:"role"`
	Settings  string         `json:"settings"`
	Runs      []Run          `json:"runs"`
	Median    figure.Set     `json:"median"`
	Min       figure.Set     `json:"min"`
	Max       figure.Set     `json:"max"`
	ToLimit   figure.Set     `json:"to_limit"`     // median of the ratios
	ToBest    figure.Set     `json:"to_best_peer"` // median of the ratios
	ToOff     figure.Set     `json:"to_guard_off"` // median of the ratios, of one that has the guard on
	ToHealthy figure.Set     `json:"to_healthy"`   // median of the ratios to its own without trouble
	limitRuns map[int]figure.Set
	bestRuns  map[int]figure.Set
	offRuns   map[int]figure.Set
	wellRuns  map[int]figure.Set
}

// A Run is one repetition.
type Run struct {
	Number  int              `json:"run"`
	Place   int              `json:"place"` // its turn among the contenders
	Seconds float64          `json:"seconds"`
	Holds   int              `json:"holds"`
	Figures figure.Set       `json:"figures"`
	Calls   map[string]int64 `json:"commands"` // that the server carried out, by name
	Problem string           `json:"problem,omitempty"`
	Broke   string           `json:"broke,omitempty"` // how the lock did not exclude: then there are no figures
}

// A Scale is what many holds and waiters of Holdfast cost a server.
type Scale struct {
	Locks            int     `json:"locks"`
	Lost             int     `json:"lost"` // of them, while they were watched
	Late             int     `json:"late"` // of them, that the store had not confirmed to be released when Unlock gave up waiting
	TTLSeconds       float64 `json:"ttl_seconds"`
	WatchedSeconds   float64 `json:"watched_seconds"`
	RenewalsASecond  float64 `json:"renewals_per_second"`
	ServerCPU        float64 `json:"server_cpu"`          // share of one processor, all of the server while nothing but renewals went on
	ServerCPUIdle    float64 `json:"server_cpu_idle"`     // the same before there were locks
	BytesForLock     float64 `json:"bytes_per_lock"`      // in the server
	Waiters          int     `json:"waiters"`             // on one lock
	BytesForWaiter   float64 `json:"bytes_per_waiter"`    // in the server
	LocksASecond     float64 `json:"locks_per_second"`    // while they were taken
	MicrosForRenewal float64 `json:"cpu_us_per_renewal"`  // of the server
	ClientBytes      float64 `json:"client_bytes_a_lock"` // heap of this process
}

// A Verdict is a bar, and whether it was met.
type Verdict struct {
	Bar      string  `json:"bar"`
	Measured bool    `json:"measured"`
	Met      bool    `json:"met"`
	Wanted   string  `json:"wanted"`
	Got      float64 `json:"got"` // the median over the repetitions
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
}

// Add records a measurement.
func (d *Document) Add(s scenario.Scenario, c contender.Contender, number, place int, r *measure.Result) {
	in := d.Scenario(s.Name)
	if in == nil {
		in = &Scenario{Name: s.Name, Title: s.Title, Nodes: s.Nodes, Healthy: s.Healthy}
		d.Scenarios = append(d.Scenarios, in)
	}
	by := in.Contender(c.Name)
	if by == nil {
		by = &Contender{Name: c.Name, Role: c.Role, Settings: c.Settings}
		in.Contenders = append(in.Contenders, by)
	}
	by.Runs = append(by.Runs, Run{
		Number: number, Place: place, Seconds: r.Lasted.Seconds(), Holds: r.Holds,
		Figures: r.Figures, Calls: r.Commands, Problem: r.Problem,
	})
}

// AddViolation records a measurement that came to nothing, because the lock did not exclude.
func (d *Document) AddViolation(s scenario.Scenario, c contender.Contender, number, place int, v *measure.Violation) {
	d.Add(s, c, number, place, &measure.Result{Figures: figure.None()})
	runs := d.Scenario(s.Name).Contender(c.Name).Runs
	runs[len(runs)-1].Broke = v.What
}

// AllMet reports whether every bar was measured, and met.
func (d *Document) AllMet() bool {
	return !slices.ContainsFunc(d.Bars, func(v Verdict) bool { return !v.Met })
}

// Scenario returns the one of that name, or nil.
func (d *Document) Scenario(name string) *Scenario {
	for _, s := range d.Scenarios {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Contender returns the one of that name, or nil.
func (s *Scenario) Contender(name string) *Contender {
	for _, c := range s.Contenders {
		if c.Name == name {
			return c
		}
	}
	return nil
}
