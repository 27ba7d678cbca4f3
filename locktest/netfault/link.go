package netfault

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// A link is one client's connection and its counterpart to the target.
type link struct {
	proxy   *Proxy
	target  target
	streams [2]*stream

	mu       sync.Mutex
	ends     [2]net.Conn // client, server: the sender of each stream
	stranded bool        // the client was reset, the server not yet
	deaf     [2]bool     // writing to this end failed: it was reset
	gone     context.Context
	cancel   context.CancelFunc // ends gone
}

func newLink(p *Proxy, client net.Conn, number uint64) *link {
	l := &link{proxy: p, target: p.target}
	l.ends[requests] = client
	for side := range l.streams {
		l.streams[side] = newStream(number<<1|uint64(side), p.faults[side])
	}
	l.gone, l.cancel = context.WithCancel(p.life)
	return l
}

// run lives as long as the link: until both streams have come to their end, or it is cut.
func (l *link) run() {
	defer l.proxy.forget(l)
	defer l.cut()
	if !l.connect() {
		return
	}
	var readers, writers sync.WaitGroup
	var whole [2]bool
	for side := range l.streams {
		readers.Go(func() { l.read(side) })
		writers.Go(func() { whole[side] = l.write(side) })
	}
	writers.Wait()
	if whole[requests] && whole[replies] {
		l.close() // both sides have said that they are done: no reset
	}
	l.cut()
	readers.Wait()
}

// connect dials the target; false: it is not there, or the link was cut meanwhile.
func (l *link) connect() bool {
	dialer := net.Dialer{Timeout: dialTimeout}
	server, err := dialer.DialContext(l.gone, l.target.network, l.target.address)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone.Err() != nil {
		reset(server)
		return false
	}
	l.ends[replies] = server
	return true
}

// read takes what one side sends until that ends.
func (l *link) read(side int) {
	s, from := l.streams[side], l.ends[side]
	buffer := make([]byte, 32<<10)
	for s.room() {
		n, err := from.Read(buffer)
		if n > 0 {
			s.put(append([]byte(nil), buffer[:n]...), goesOn)
			l.proxy.announce()
		}
		if err != nil {
			s.put(nil, l.how(err))
			return
		}
	}
}

// how tells an orderly end from a reset. A stranded client's requests end in order, so that the server reads them first.
func (l *link) how(err error) ending {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stranded || errors.Is(err, io.EOF) {
		return finished
	}
	return wasReset
}

// write passes on what is due. It reports whether the stream came to its end in order; false: its receiver, or the link, is gone.
func (l *link) write(side int) bool {
	s, to := l.streams[side], l.ends[1-side]
	for {
		p, ok := s.next()
		if !ok {
			return false
		}
		if p.end == wasReset || (p.end == finished && l.isDeaf(side)) {
			l.cut()
			return false
		}
		if p.end == finished {
			closeWrite(to)
			return true
		}
		if len(p.data) == 0 {
			continue // it was ignored after it had arrived
		}
		n, thenReset := l.proxy.allow(side, len(p.data))
		if _, err := to.Write(p.data[:n]); err != nil {
			// What the receiver had sent before it went may still be on its way to the sender, so the link is not cut yet.
			s.ignore()
			l.setDeaf(1 - side)
			return false
		}
		if thenReset {
			l.cut()
			return false
		}
	}
}

// A reset is reported once, to whoever reads or writes first; the other sees an orderly end. So the writer remembers it.
func (l *link) setDeaf(end int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaf[end] = true
}

func (l *link) isDeaf(end int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deaf[end]
}

// strand resets the client and forgets what it would be told. A link that has no server yet has nothing to bring there.
func (l *link) strand() {
	l.mu.Lock()
	connected := l.ends[replies] != nil
	l.stranded = true
	l.mu.Unlock()
	if !connected {
		l.cut()
		return
	}
	l.streams[replies].ignore()
	reset(l.ends[requests])
}

// cut resets both sides and drops what is held.
func (l *link) cut() { l.finish(reset) }

// close closes both sides in order.
func (l *link) close() { l.finish(func(c net.Conn) { c.Close() }) }

func (l *link) finish(end func(net.Conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	for side, conn := range l.ends {
		l.streams[side].kill()
		if conn != nil {
			end(conn)
		}
	}
}

// reset closes a connection so that the peer sees a reset (RST) instead of an end (FIN). Unix sockets know only the end.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}

// closeWrite ends one direction.
func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
}
