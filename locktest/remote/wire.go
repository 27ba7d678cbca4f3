package remote

import (
	"bytes"
	"encoding/gob"
	"net"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// A call is what clients send.
type call struct {
	ID      uint64 // of the connection's calls; of a cancel: the call that it ends
	Op      op
	Request request              // acquire, release; renew, with the TTL that is wished for
	Name    string               // inspect; list: the prefix
	Mode    driver.Mode          // inspect
	Break   *driver.BreakRequest // break
}

type op uint8

const (
	opAcquire op = iota + 1
	opCancel
	opRelease
	opRenew
	opGuarantees
	opIdentity
	opInspect
	opList
	opBreak
)

// A reply is what servers send: progress, a loss, or else the answer to the call with its ID.
type reply struct {
	ID       uint64
	Progress *driver.Progress
	Lost     *key // Err is the reason

	Err        *failure
	Grant      *grant        // acquire
	TTL        time.Duration // renew
	Guarantees driver.Guarantees
	Identity   string
	Infos      []*driver.Info // inspect: one
}

type grant struct {
	Token, Spare uint64
	TTL          time.Duration
	Waited       bool // it was not granted at once
}

// A request is a driver.Request on the wire. Its attempt is revealed: it is never printed.
type request struct {
	Name, Attempt, Label string
	Mode                 driver.Mode
	N, Limit             int
	TTL, Keep            time.Duration
	NoWait               bool
	Reserve              uint32
}

// A key names one attempt to get one lock.
type key struct {
	Name, Attempt string
	Mode          driver.Mode
}

func (r request) key() key { return key{r.Name, r.Attempt, r.Mode} }

func pack(r *driver.Request) request {
	return request{
		Name: r.Name, Attempt: r.Attempt.Reveal(), Label: r.Label, Mode: r.Mode, N: r.N, Limit: r.Limit,
		TTL: r.TTL, Keep: r.Keep, NoWait: r.NoWait, Reserve: r.Reserve,
	}
}

func (r request) unpack() (*driver.Request, error) {
	attempt, err := driver.ParseAttempt(r.Attempt)
	return &driver.Request{
		Name: r.Name, Attempt: attempt, Label: r.Label, Mode: r.Mode, N: r.N, Limit: r.Limit,
		TTL: r.TTL, Keep: r.Keep, NoWait: r.NoWait, Reserve: r.Reserve,
	}, err
}

// maxQueued is how many frames may wait for a peer that does not read.
const maxQueued = 4096

// A wire is one connection. It is read by its owner, and written by a goroutine of its own, so that sending never blocks.
type wire struct {
	conn net.Conn
	in   *gob.Decoder
	out  chan any
	gone chan struct{} // closed when the connection has ended
	once sync.Once
}

func newWire(conn net.Conn, work *sync.WaitGroup) *wire {
	w := &wire{conn: conn, in: gob.NewDecoder(conn), out: make(chan any, maxQueued), gone: make(chan struct{})}
	work.Go(w.write)
	return w
}

func (w *wire) read(frame any) error { return w.in.Decode(frame) }

func (w *wire) send(frame any) {
	select {
	case w.out <- frame:
	default:
		w.hangUp()
	}
}

func (w *wire) write() {
	defer w.hangUp()
	var buffer bytes.Buffer // so that a frame is one write, which arrives as a whole or not at all
	encoder := gob.NewEncoder(&buffer)
	for {
		select {
		case frame := <-w.out:
			if encoder.Encode(frame) != nil {
				return
			}
			if _, err := buffer.WriteTo(w.conn); err != nil {
				return
			}
		case <-w.gone:
			return
		}
	}
}

func (w *wire) hangUp() {
	w.once.Do(func() {
		close(w.gone)
		w.conn.Close()
	})
}
