package round_test

import (
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// shared is the time that two spans have in common.
func shared(a, b history.Span) time.Duration { return max(0, min(a.To, b.To).Sub(max(a.From, b.From))) }

// starved are the spans in which a process, or the server (0), says that it did not get to run.
func (r *records) starved() map[uint32][]history.Span {
	starved := make(map[uint32][]history.Span)
	for _, x := range r.all(history.Process, history.Starved) {
		starved[x.Process] = append(starved[x.Process], history.Span{From: driver.Instant(x.Value), To: x.At})
	}
	return starved
}

// stopped are the spans in which processes were stopped.
func (r *records) stopped() map[uint32][]history.Span {
	stopped := make(map[uint32][]history.Span)
	ends := r.all(history.Process, history.Continued)
	for _, x := range r.all(history.Process, history.Stopped) {
		for _, end := range ends {
			if end.Process == x.Process && end.At >= x.At {
				stopped[x.Process] = append(stopped[x.Process], history.Span{From: x.At, To: end.At})
				break
			}
		}
	}
	return stopped
}

// stoodStill: a process that was stopped has noticed that it did not run, and so has who asks the server.
func (r *records) stoodStill(server bool) {
	starved, stopped := r.starved(), r.stopped()
	if server {
		for _, f := range r.Faults() {
			if driver.Fault(r.Meta.Faults[f.Index].Name) == driver.ServerStop {
				stopped[0] = append(stopped[0], f.Span)
			}
		}
		if !noticed(starved[0], stopped[0]) {
			r.Errorf("the server was stopped in %v; noticed was %v", stopped[0], starved[0])
		}
	}
	some := false
	for process := range stopped {
		some = some || process > 0 && noticed(starved[process], stopped[process])
	}
	if !some {
		r.Errorf("stopped were %v; noticed was %v", stopped, starved)
	}
}

// hadTime: beside stops all processes together could run for half of the time at least, and who could not says it of long
// stretches only: what is said excuses a lot.
func (r *records) hadTime() {
	starved, stopped := r.starved(), r.stopped()
	lives := time.Duration(r.places()) * r.When(history.Ended).Sub(r.When(history.Began))
	missed := time.Duration(0)
	for process, spans := range starved {
		for _, s := range spans {
			if s.To.Sub(s.From) < 50*time.Millisecond {
				r.Errorf("process %d had no time for %v: that is nothing", process, s.To.Sub(s.From))
			}
			if process == 0 {
				continue // what is said of the server is about another process
			}
			missed += s.To.Sub(s.From)
			for _, stop := range stopped[process] {
				missed -= shared(s, stop)
			}
		}
	}
	if missed > lives/2 {
		r.Errorf("there was no time for %v of %v: nothing can be said about this machine", missed, lives)
	}
	r.Logf("no time for %v of %v, beside stops", missed, lives)
}

// noticed reports whether one of the stops was, for the most part.
func noticed(starved, stopped []history.Span) bool {
	for _, stop := range stopped {
		for _, s := range starved {
			if shared(s, stop) > stop.To.Sub(stop.From)/2 {
				return true
			}
		}
	}
	return false
}
