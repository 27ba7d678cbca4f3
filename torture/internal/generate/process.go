package generate

import (
	"iter"
	"slices"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// A process is running, stopped or dead. What happens in it waits while it is stopped, and never happens once it is dead.
type process struct {
	*sim
	number  uint32
	stopped bool
	dead    bool
	parked  []func()
	workers []*worker
}

// start makes a process with n workers, whose numbers begin with first.
func (s *sim) start(first uint16, n int) {
	s.numbers++
	p := &process{sim: s, number: s.numbers}
	s.processes = append(s.processes, p)
	s.record(history.Record{Op: history.Process, Phase: history.Started, Process: p.number})
	for i := range n {
		w := &worker{process: p, number: first + uint16(i)}
		p.workers = append(p.workers, w)
		w.next, w.stop = iter.Pull(w.live)
		p.later(s.between(0, 5*time.Millisecond), func() { w.next() })
	}
}

// later does something in the process, after d or when it continues.
func (p *process) later(d time.Duration, do func()) {
	p.at(p.now.Add(d), func() { p.enter(do) })
}

func (p *process) enter(do func()) {
	switch {
	case p.dead:
	case p.stopped:
		p.parked = append(p.parked, do)
	default:
		do()
	}
}

func (p *process) halt() {
	p.record(history.Record{Op: history.Process, Phase: history.Stopped, Process: p.number})
	p.stopped = true
}

// resume continues a process. What waited comes at once, but in no order: a worker may go on before it is told that it lost its
// lock meanwhile.
func (p *process) resume() {
	p.stopped = false
	for _, do := range p.parked {
		p.later(p.between(0, 2*time.Millisecond), do)
	}
	p.parked = nil
	p.record(history.Record{Op: history.Process, Phase: history.Continued, Process: p.number})
}

// kill ends a process where it is, and starts another one in its place.
func (p *process) kill() {
	if p.dead {
		return
	}
	p.record(history.Record{Op: history.Process, Phase: history.Killed, Process: p.number})
	p.dead = true
	for _, w := range p.workers {
		w.stop()
	}
	p.gone()
	p.after(p.between(0, time.Millisecond), func() {
		p.record(history.Record{Op: history.Process, Phase: history.Ended, Process: p.number, Value: -1})
		if p.o.NoExpiry {
			for _, l := range p.locks {
				l.leave(p)
			}
		}
		if p.drainAt == 0 {
			p.start(p.workers[0].number, len(p.workers))
		}
	})
}

// done is called by each worker that has ended. The last one ends the process.
func (p *process) done() {
	if slices.ContainsFunc(p.workers, func(o *worker) bool { return !o.ended }) {
		return
	}
	p.later(p.between(time.Millisecond, 5*time.Millisecond), func() {
		p.record(history.Record{Op: history.Process, Phase: history.Rest, Process: p.number, Flags: history.Goroutines})
		p.record(history.Record{Op: history.Process, Phase: history.Rest, Process: p.number, Flags: history.Descriptors})
		p.record(history.Record{Op: history.Process, Phase: history.Ended, Process: p.number})
		p.dead = true
		p.gone()
	})
}

func (p *process) gone() {
	p.processes = slices.DeleteFunc(p.processes, func(o *process) bool { return o == p })
}

// A worker is a coroutine: its code waits where the code of a real one would.
type worker struct {
	*process
	number uint16
	next   func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	ended  bool

	nap    uint64 // counts its sleeps: an alarm that was set for another one is none
	awaits bool
	mail   []answer
}

// killed unwinds a worker whose process was killed.
type killed struct{}

func (w *worker) live(yield func(struct{}) bool) {
	defer func() {
		if r := recover(); r != nil && r != (killed{}) {
			panic(r)
		}
	}()
	w.yield = yield
	for w.operation() {
		w.step()
		w.sleep(w.between(0, 2*time.Millisecond))
	}
	w.ended = true
	w.done()
}

func (w *worker) park() {
	if !w.yield(struct{}{}) {
		panic(killed{})
	}
}

func (w *worker) wakeIn(d time.Duration) {
	w.nap++
	nap := w.nap
	w.later(d, func() {
		if nap == w.nap {
			w.next()
		}
	})
}

func (w *worker) sleep(d time.Duration) {
	w.wakeIn(d)
	w.park()
}

// await waits for mail, or until a moment has come.
func (w *worker) await(until driver.Instant) (answer, bool) {
	if len(w.mail) == 0 && w.now < until {
		w.awaits = true
		if until != driver.Never {
			w.wakeIn(until.Sub(w.now))
		} else {
			w.nap++
		}
		w.park()
		w.awaits = false
	}
	if len(w.mail) == 0 {
		return answer{}, false
	}
	m := w.mail[0]
	w.mail = w.mail[1:]
	return m, true
}

// deliver brings mail. It is called within the process.
func (w *worker) deliver(m answer) {
	w.mail = append(w.mail, m)
	if w.awaits && len(w.mail) == 1 {
		w.nap++
		w.awaits = false
		w.next()
	}
}

// die kills the process from inside.
func (w *worker) die() {
	w.after(0, w.kill)
	for { // there may be mail
		w.await(driver.Never)
	}
}
