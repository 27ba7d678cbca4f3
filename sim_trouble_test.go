package holdfast

import (
	"math/rand/v2"
	"time"
)

// trouble is which faults a world has.
type trouble struct {
	network                                     faults
	cuts, pauses, forgets, jumps, breaks, kills bool
}

// calm reports whether nothing goes wrong in this world but some delay: whoever gives up then waits until all is cleaned up.
func (w *world) calm() bool {
	delay := w.trouble.network.delay
	return w.trouble == trouble{network: faults{delay: delay}} && delay < undoWait/5
}

func (w *world) faults() faults {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bad
}

func (w *world) isHealed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.healed
}

// disturb makes trouble for a while, and then heals everything.
func (w *world) disturb(random *rand.Rand) {
	for range 12 {
		time.Sleep(time.Duration(random.Int64N(int64(2 * w.ttl))))
		m := w.machines[random.IntN(len(w.machines))]
		s := w.servers[random.IntN(len(w.servers))]
		d := time.Duration(random.Int64N(int64(2 * w.ttl)))
		switch t := w.trouble; random.IntN(6) {
		case 0:
			if t.cuts {
				w.cut(m, s, random.IntN(4), d)
			}
		case 1:
			if t.pauses {
				m.pause(d)
			}
		case 2:
			if t.forgets {
				w.log("server %d forgets everything", s.index)
				s.forget()
			}
		case 3:
			if t.jumps && random.IntN(2) == 0 {
				w.log("machine %s: clock jumps %v ahead", m.name, d)
				m.clock.jump(d)
			} else if t.jumps {
				w.log("server %d: clock jumps %v back", s.index, d/4)
				s.clock.jump(-d / 4)
			}
		case 4:
			if t.breaks {
				w.breakOne()
			}
		case 5:
			if t.kills && random.IntN(4) == 0 && m != w.machines[0] {
				m.kill()
			}
		}
	}
	w.heal()
}

func (w *world) heal() {
	w.log("everything heals")
	w.mu.Lock()
	w.bad, w.healed = faults{}, true
	w.mu.Unlock()
	for _, s := range w.servers {
		s.setDown(false)
	}
	for _, m := range w.machines {
		for _, c := range m.clients {
			c.net.setCut(false) // a pause ends by itself
		}
	}
}

// cut keeps a machine from one server or from all, or everybody from a server, for d.
func (w *world) cut(m *simMachine, s *simServer, what int, d time.Duration) {
	switch what {
	case 0:
		w.log("server %d: nobody reaches it for %v", s.index, d)
		s.setDown(true)
		time.AfterFunc(d, func() { s.setDown(false) })
		return
	case 1:
		w.log("machine %s: cut off from server %d for %v", m.name, s.index, d)
	default:
		w.log("machine %s: cut off for %v", m.name, d)
	}
	for _, c := range m.clients {
		if what > 1 || c.net.server == s {
			c.net.setCut(true)
			time.AfterFunc(d, func() { c.net.setCut(false) })
		}
	}
}

// kill cuts a machine off for good.
func (m *simMachine) kill() {
	m.w.log("machine %s is cut off for good", m.name)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
}

// pause stops a machine, as SIGSTOP would, for d.
func (m *simMachine) pause(d time.Duration) {
	m.w.log("machine %s: paused for %v", m.name, d)
	m.mu.Lock()
	defer m.mu.Unlock()
	if until := time.Now().Add(d); until.After(m.paused) {
		m.paused = until
	}
}

// breakOne breaks the hold with the greatest token.
func (w *world) breakOne() {
	w.mu.Lock()
	var key simKey
	var token uint64
	for k, holds := range w.held {
		for _, h := range holds {
			if t := h.hold.Token(); t > token || t == token && k.String() < key.String() {
				key, token = k, t
			}
		}
	}
	if token > 0 {
		w.tokensOf(key).broken[token] = true
	}
	w.mu.Unlock()
	if token > 0 {
		w.log("%v, token %d: broken", key, token)
		mode := Exclusive
		if key.permits {
			mode = Permits
		}
		w.servers[key.server].breakHold(key.name, mode, token)
	}
}
