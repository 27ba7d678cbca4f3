package round_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	_ "holdfast.dev/filelock"
	"holdfast.dev/locktest/servers"
	_ "holdfast.dev/memlock"
	_ "holdfast.dev/redislock"
	"holdfast.dev/torture/internal/arena"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/round"
	"holdfast.dev/torture/internal/worker"
)

// complaint is what a worker process says that is none.
const complaint = "there is nothing for me to do here"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "complain" {
		os.Stderr.WriteString(complaint + "\n")
		os.Exit(3)
	}
	if len(os.Args) == 2 && os.Args[1] == "echo" {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Println(lines.Text())
			if lines.Text() == "drain" {
				os.Exit(0)
			}
		}
		os.Exit(1)
	}
	if len(os.Args) == 3 && os.Args[1] == "control" {
		os.Exit(control(os.Args[2]))
	}
	if code, invoked := worker.Invoked(holdfast.Open); invoked {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// run runs a short round, and returns what it left.
func run(t *testing.T, kind arena.Kind, change func(*round.Plan)) *history.History {
	t.Helper()
	plan := round.Plan{Number: 1, Seed: 1, Kind: kind, Class: "none", TTL: 300 * time.Millisecond, Duration: time.Second,
		Workers: 8, PerEach: 2, Locks: round.Locks(), Mix: worker.Plan, Command: []string{os.Args[0]}}
	if kind.OneProcess {
		plan.Mix.Die = 0
	}
	change(&plan)
	dir := t.TempDir()
	err := round.Run(t.Context(), plan, dir, holdfast.Open)
	servers.Need(t, err)
	h, err := round.Load(dir)
	if err != nil {
		log, _ := os.ReadFile(dir + "/log.txt")
		t.Fatalf("%v\n%s", err, log)
	}
	return h
}

// Every kind of store has a round without faults: work is done, in more than one process, and nothing is left.
func TestQuietRound(t *testing.T) {
	for _, kind := range arena.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			h := run(t, kind, func(*round.Plan) {})
			granted := 0
			attempts, err := h.Attempts()
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range attempts {
				if a.Granted() {
					granted++
				}
			}
			if granted < 10 || h.When(history.Drained) == 0 || len(h.Meta.Left) > 0 {
				t.Errorf("%d grants of %d, drained %d, left %v", granted, len(attempts), h.When(history.Drained), h.Meta.Left)
			}
			t.Logf("%d attempts, %d grants, %d records", len(attempts), granted, len(h.Records))
		})
	}
}

// What a driver assumes, and what its arena can do, is the same list.
func TestEveryAssumptionHasACause(t *testing.T) {
	for _, kind := range arena.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			a, err := kind.Start(t.Context(), arena.Options{Dir: t.TempDir(), TTL: 300 * time.Millisecond, Processes: 1})
			servers.Need(t, err)
			defer a.Close()
			causes := a.Causes()
			for _, a := range kind.Assumptions() {
				if a.Why == "" || a.Class != driver.Within && a.Class != driver.Beyond {
					t.Errorf("%s: it is of class %v, because %q", a.Fault, a.Class, a.Why)
				}
				if _, known := causes[a.Fault]; !known {
					t.Errorf("%s cannot be caused, or is listed twice", a.Fault)
				}
				delete(causes, a.Fault)
			}
			for f := range causes {
				t.Errorf("%s can be caused, and the driver says nothing about it", f)
			}
		})
	}
}

// tiresome: a round with several servers takes up to ten seconds, most of them for guards. That every fault is over when it is over package
// arena has seen; here are those after which the most is different.
func tiresome(kind arena.Kind, fault driver.Fault) bool {
	var worst []driver.Fault
	switch {
	case strings.HasPrefix(kind.Name, "redis-"):
		worst = []driver.Fault{driver.FailoverCut, driver.OldReturns, driver.OldIsolated, driver.Flush}
	case kind.Name == "redlock-3":
		worst = []driver.Fault{driver.ForgetInTurn, driver.PartitionMajority, driver.LateRequest, driver.ClockBack, driver.Flush}
	case kind.Name == "redlock-5":
		worst = []driver.Fault{driver.ForgetMajority, driver.BreakNow}
	default:
		return false
	}
	return !slices.Contains(worst, fault)
}

// Each fault of each kind can be caused, and everything works again afterwards.
func TestEveryFault(t *testing.T) {
	for _, kind := range arena.Kinds() {
		for _, a := range kind.Assumptions() {
			if tiresome(kind, a.Fault) {
				continue
			}
			t.Run(kind.Name+"/"+string(a.Fault), func(t *testing.T) {
				t.Parallel()
				h := run(t, kind, func(p *round.Plan) {
					p.Class, p.Faults, p.Duration = a.Class.String(), []driver.Fault{a.Fault}, 700*time.Millisecond
				})
				faults := h.Faults()
				if len(faults) == 0 || !faults[0].Healed || h.When(history.Drained) == 0 {
					t.Errorf("faults %+v, drained %d", faults, h.When(history.Drained))
				}
			})
		}
	}
}
