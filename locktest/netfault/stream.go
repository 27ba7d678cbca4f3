package netfault

import (
	"math/rand/v2"
	"sync"
	"time"
)

// MaxHeld is how much a stream keeps of what is held or delayed, in bytes, the upkeep of small pieces included.
const MaxHeld = 1 << 20

// pieceCost is what a piece costs beside its bytes.
const pieceCost = 64

// A stream is one direction of a connection: a queue between the goroutine that reads and the one that writes.
type stream struct {
	number uint64 // for the jitter: differs between the streams of a proxy, not between runs

	mu      sync.Mutex
	changed *sync.Cond // of mu: on every change of what follows
	faults
	queue   []piece // read, not yet written
	bytes   int     // of the queue's pieces
	pieces  uint64  // how many there have been
	lost    bool    // something was thrown away: what follows must never arrive
	ignored bool    // nobody is interested in the bytes: only the end counts
	closed  bool    // nothing is added any more, not even an end
	dead    bool    // the connection is gone
}

// A piece is what was read at once, or the end of the stream.
type piece struct {
	data []byte
	end  ending
	due  time.Time // not to be written before
}

type ending uint8

const (
	goesOn   ending = iota
	finished        // the sender closed its side, or HalfClose did
	wasReset        // the sender is gone
)

func newStream(number uint64, f faults) *stream {
	s := &stream{number: number, faults: f}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// room waits until more may be read; false: the connection is gone.
func (s *stream) room() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.dead && s.bytes+len(s.queue)*pieceCost >= MaxHeld {
		s.changed.Wait()
	}
	return !s.dead
}

// put adds what was read: bytes, or an end.
func (s *stream) put(data []byte, end ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(data, end)
}

func (s *stream) add(data []byte, end ending) {
	switch {
	case s.dead || s.closed || (s.ignored && end == goesOn):
	case s.drop:
		s.lost = true
	default:
		s.queue = append(s.queue, piece{data: data, end: end, due: s.nextDue()})
		s.bytes += len(data)
	}
	s.changed.Broadcast()
}

// nextDue is when the piece that has just arrived may go on. It still waits for those before it.
func (s *stream) nextDue() time.Time {
	s.pieces++
	if s.least <= 0 && s.jitter <= 0 {
		return time.Time{}
	}
	random := rand.New(rand.NewPCG(s.seed, s.number<<32|s.pieces)).Float64()
	return time.Now().Add(s.least + time.Duration(random*float64(s.jitter)))
}

// next waits for the piece that is to be written now; false: the connection is gone.
func (s *stream) next() (piece, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.dead {
		if len(s.queue) == 0 || s.hold {
			s.changed.Wait()
			continue
		}
		if wait := time.Until(s.queue[0].due); wait > 0 {
			alarm := time.AfterFunc(wait, s.wake)
			s.changed.Wait()
			alarm.Stop()
			continue
		}
		first := s.queue[0]
		s.queue = s.queue[1:]
		s.bytes -= len(first.data)
		s.changed.Broadcast()
		return first, true
	}
	return piece{}, false
}

func (s *stream) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.Broadcast()
}

func (s *stream) change(f func(*faults)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.faults)
	if s.drop && len(s.queue) > 0 {
		s.clear()
		s.lost = true
	}
	s.changed.Broadcast()
}

// heal lifts every fault; false: too late, something was lost.
func (s *stream) heal() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return false
	}
	s.faults = faults{}
	for i := range s.queue {
		s.queue[i].due = time.Time{}
	}
	s.changed.Broadcast()
	return true
}

func (s *stream) halfClose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(nil, finished)
	s.closed, s.lost = true, true
}

// ignore throws away the bytes that are there and those that come, but not the end.
func (s *stream) ignore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ignored = true
	for i := range s.queue {
		s.queue[i].data = nil
	}
	s.bytes = 0
	s.changed.Broadcast()
}

// kill ends both goroutines of the stream.
func (s *stream) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = true
	s.clear()
	s.changed.Broadcast()
}

func (s *stream) clear() { s.queue, s.bytes = nil, 0 }

func (s *stream) kept() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}
