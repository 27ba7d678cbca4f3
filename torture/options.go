package torture

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/arena"
	"holdfast.dev/torture/internal/worker"
)

// ErrOption: there is no such store or fault, or a number makes no sense. Its text says what there is.
var ErrOption = errors.New("bad option")

// Options are what a run is to be.
type Options struct {
	Stores   []string      // names of Stores; none: all of them
	Faults   []string      // within, beyond, all, or the names of faults; none: all
	Seed     uint64        // of the whole run
	Duration time.Duration // for each store; 0: until the context ends
	Workers  int           // 2 to 64
	Round    int           // only this one of the rounds that such a run has, from 1; 0: all
	Into     string        // the bundle, a directory; "": one that is removed at the end

	Command string   // what the run is called in its bundle: the command line
	Program []string // starts this program again, as a worker process; none: its executable, without arguments

	Progress func(State) // is told how it goes, a few times a second; may be nil
}

// A State is how a run goes.
type State struct {
	Store      string
	Round      int // of the bundle
	Fault      string
	Operations int // of this run
	Violations int // of this run
	Elapsed    time.Duration
	Left       time.Duration // for all stores together; 0: until it is stopped
}

// The bounds of Options.Workers.
const (
	MinWorkers = 2
	MaxWorkers = 64
)

// Stores are the names of the stores that can be tortured.
func Stores() []string {
	var names []string
	for _, k := range arena.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// Invoked must be asked first by every program that calls Run or Controls: it is started again as a worker process. If it is one,
// the program ends with that code.
func Invoked() (code int, invoked bool) { return worker.Invoked(open) }

// errWorker: a worker process would start worker processes of its own, and these as well.
var errWorker = errors.New("this is a worker process of torture already: the program must ask torture.Invoked before anything else")

// again is the command that starts a worker process, where the caller has named this one.
func again(program []string) ([]string, error) {
	if os.Getenv(worker.Variable) != "" {
		return nil, errWorker
	}
	if len(program) > 0 {
		return program, nil
	}
	self, err := os.Executable()
	return []string{self}, err
}

// A field is what the rounds of a run take turns in: a store, and faults of one class.
type field struct {
	kind   arena.Kind
	class  driver.Class
	faults []driver.Fault
}

// fields sorts out what the options ask for.
func (o Options) fields() ([]field, error) {
	if o.Workers < MinWorkers || o.Workers > MaxWorkers {
		return nil, fmt.Errorf("%w: %d workers: give %d to %d", ErrOption, o.Workers, MinWorkers, MaxWorkers)
	}
	if o.Round < 0 {
		return nil, fmt.Errorf("%w: round %d: they are counted from 1", ErrOption, o.Round)
	}
	if o.Duration < 0 {
		return nil, fmt.Errorf("%w: a duration of %v: give 1s or more, or 0 to go on until it is stopped", ErrOption, o.Duration)
	}
	var kinds []arena.Kind
	for _, name := range o.Stores {
		kind, known := arena.Find(name)
		switch {
		case name == "all":
			kinds = arena.Kinds()
		case !known:
			return nil, fmt.Errorf("%w: there is no store %q to torture; there are all, %s", ErrOption, name, strings.Join(Stores(), ", "))
		case !slices.ContainsFunc(kinds, func(k arena.Kind) bool { return k.Name == name }):
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		kinds = arena.Kinds()
	}
	var all []field
	for _, kind := range kinds {
		for _, class := range []driver.Class{driver.Within, driver.Beyond} {
			f := field{kind: kind, class: class}
			for _, a := range kind.Assumptions() {
				if a.Class == class && o.wants(a) {
					f.faults = append(f.faults, a.Fault)
				}
			}
			if len(f.faults) > 0 {
				all = append(all, f)
			}
		}
	}
	return all, o.known(kinds, all)
}

// wants reports whether a fault is asked for.
func (o Options) wants(a driver.Assumption) bool {
	return len(o.Faults) == 0 || slices.Contains(o.Faults, "all") || slices.Contains(o.Faults, a.Class.String()) ||
		slices.Contains(o.Faults, string(a.Fault))
}

// known refuses faults that none of the stores has.
func (o Options) known(kinds []arena.Kind, fields []field) error {
	names := []string{"all", driver.Within.String(), driver.Beyond.String()}
	for _, kind := range kinds {
		for _, a := range kind.Assumptions() {
			if !slices.Contains(names, string(a.Fault)) {
				names = append(names, string(a.Fault))
			}
		}
	}
	for _, f := range o.Faults {
		if !slices.Contains(names, f) {
			return fmt.Errorf("%w: there is no fault %q here; there are %s", ErrOption, f, strings.Join(names, ", "))
		}
	}
	if len(fields) == 0 {
		return fmt.Errorf("%w: none of the stores has one of these faults", ErrOption)
	}
	return nil
}
