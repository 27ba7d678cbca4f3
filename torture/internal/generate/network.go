package generate

import "time"

// A network is what stands between workers and the service, and what is wrong with it now.
type network struct {
	cut    map[uint32]bool // nothing passes from or to this process; 0: to or from any
	deaf   bool            // answers do not pass
	slow   time.Duration   // at most this much is added
	losing int             // one answer in so many is lost; 0: none
	late   int             // one request or answer in so many comes after the TTL; 0: none
}

// send takes a request to the service, where do happens. Files are in reach of their process, and of nobody else.
func (p *process) send(do func()) {
	if p.o.NoExpiry {
		p.later(p.trip(), do)
		return
	}
	if p.net.cut[0] || p.net.cut[p.number] {
		return
	}
	d := p.trip()
	if p.net.late > 0 && p.once(p.net.late) {
		d += p.ttl(0.9, 1.6)
	}
	p.after(d, do)
}

// answer takes an answer to the process, where do happens.
func (p *process) answer(do func()) {
	if p.o.NoExpiry {
		p.later(p.between(10*time.Microsecond, 80*time.Microsecond), do)
		return
	}
	if p.net.cut[0] || p.net.cut[p.number] || p.net.deaf || p.net.losing > 0 && p.once(p.net.losing) {
		return
	}
	d := p.trip()
	if p.net.late > 0 && p.once(p.net.late) {
		d += p.ttl(0.9, 1.6)
	}
	p.later(d, do)
}

// trip is how long a message takes.
func (s *sim) trip() time.Duration {
	d := s.between(80*time.Microsecond, 600*time.Microsecond)
	if s.once(100) {
		d += s.between(0, 5*time.Millisecond)
	}
	if s.net.slow > 0 {
		d += s.between(0, s.net.slow)
	}
	return d
}
