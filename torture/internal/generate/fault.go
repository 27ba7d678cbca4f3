package generate

import (
	"time"

	"holdfast.dev/torture/internal/history"
)

// A fault is something that the controller does: begin starts it and returns what ends it, and whom it concerns.
type fault struct {
	history.FaultMeta
	lasts [2]float64 // in TTLs
	files bool       // it can happen to a store in which nothing runs out
	begin func(s *sim) (heal func(), process uint32)
}

func within(name string, shortest, longest float64, begin func(s *sim) (func(), uint32)) fault {
	return fault{FaultMeta: history.FaultMeta{Name: name, Class: "within"}, lasts: [2]float64{shortest, longest}, begin: begin}
}

// onNet disturbs the network, and mends it.
func onNet(spoil, mend func(n *network)) func(s *sim) (func(), uint32) {
	return func(s *sim) (func(), uint32) {
		spoil(&s.net)
		return func() { mend(&s.net) }, 0
	}
}

// onOne disturbs one process.
func onOne(inside bool, begin func(p *process) (heal func())) func(s *sim) (func(), uint32) {
	return func(s *sim) (func(), uint32) {
		p := s.anyone(inside)
		if p == nil {
			return func() {}, 0
		}
		return begin(p), p.number
	}
}

func stop(p *process) func() {
	p.after(p.between(0, time.Millisecond), func() {
		if !p.dead {
			p.halt()
		}
	})
	return func() {
		if p.stopped && !p.dead {
			p.resume()
		}
	}
}

func kill(p *process) func() {
	p.after(p.between(0, time.Millisecond), p.kill)
	return func() {}
}

// restart takes the server away. When it is back it knows all that it knew, but grants nothing to anybody for a while, as one would
// that cannot be sure of that.
func restart(s *sim) (func(), uint32) {
	s.net.cut[0] = true
	return func() {
		delete(s.net.cut, 0)
		s.guard = s.now.Add(s.ttl(0.2, 0.5))
		s.at(s.guard, func() {
			for _, l := range s.locks {
				l.serve()
			}
		})
	}, 0
}

// all are the faults that there are.
func all(ttl time.Duration) []fault {
	faults := []fault{
		within("stop-worker", 0.5, 3, onOne(false, stop)),
		within("stop-inside", 0.5, 3, onOne(true, stop)),
		within("kill-worker", 0.01, 0.1, onOne(true, kill)),
		within("server-gone", 0.1, 2.5, onNet(func(n *network) { n.cut[0] = true }, func(n *network) { delete(n.cut, 0) })),
		within("restart", 0.1, 1.5, restart),
		within("answers-lost", 0.1, 1.5, onNet(func(n *network) { n.deaf = true }, func(n *network) { n.deaf = false })),
		within("reset", 0.2, 1.5, onNet(func(n *network) { n.losing = 3 }, func(n *network) { n.losing = 0 })),
		within("late", 0.2, 1.5, onNet(func(n *network) { n.late = 6 }, func(n *network) { n.late = 0 })),
		within("delay", 0.2, 2, onNet(func(n *network) { n.slow = 40 * time.Millisecond }, func(n *network) { n.slow = 0 })),
		within("cut-worker", 0.2, 2.5, onOne(true, func(p *process) func() {
			p.net.cut[p.number] = true
			return func() { delete(p.net.cut, p.number) }
		})),
		{FaultMeta: history.FaultMeta{Name: "forget", Class: "beyond", Loses: true}, lasts: [2]float64{0.01, 0.05}, files: true,
			begin: func(s *sim) (func(), uint32) {
				s.after(s.between(0, time.Millisecond), func() {
					for _, l := range s.locks {
						l.forget()
					}
				})
				return func() {}, 0
			}},
	}
	for i := range faults {
		switch f := &faults[i]; f.Name {
		case "stop-worker", "stop-inside", "kill-worker":
			f.files = true
		case "restart":
			f.Heals = ttl / 2
		}
	}
	return faults
}

// planFaults lets faults come, one after the other, sometimes close to each other and sometimes with time to heal.
func (s *sim) planFaults() {
	var can []fault
	for _, f := range all(s.o.TTL) {
		if s.o.Class != "none" && (f.Class == "within" || s.o.Class == "beyond") && (f.files || !s.o.NoExpiry) {
			can = append(can, f)
			s.faults = append(s.faults, f.FaultMeta)
		}
	}
	if len(can) > 0 {
		s.at(s.now.Add(s.ttl(0.3, 2)), func() { s.disturb(can) })
	}
}

// disturb begins a fault, and plans its end and the next one.
func (s *sim) disturb(can []fault) {
	if s.drainAt != 0 {
		return
	}
	i := s.random.IntN(len(can))
	f := can[i]
	at := len(s.records)
	s.record(history.Record{Op: history.Fault, Phase: history.Began, Lock: uint16(i)})
	lasts := s.ttl(f.lasts[0], f.lasts[1])
	heal, process := f.begin(s)
	s.records[at].Process, s.records[at].Value = process, int64(lasts)
	s.at(s.now.Add(lasts), func() {
		heal()
		s.after(s.between(time.Millisecond, 3*time.Millisecond), func() {
			s.record(history.Record{Op: history.Fault, Phase: history.Healed, Lock: uint16(i), Process: process})
			gap := s.ttl(0.05, 1)
			if s.once(2) {
				gap = s.ttl(3, 6)
			}
			s.after(gap, func() { s.disturb(can) })
		})
	})
}
