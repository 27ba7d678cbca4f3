package resource

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"holdfast.dev/fence"
	"holdfast.dev/torture/internal/history"
)

// A Server has the registers.
type Server struct {
	gateMode Gate
	gate     fence.Gate
	log      *history.Writer
	listener net.Listener
	serving  sync.WaitGroup

	mu        sync.Mutex // held while an access takes place and is recorded, so that both have one order
	registers map[register]int64
	inside    func(process uint32, lock uint16) bool
	held      *heldWrite
	conns     map[net.Conn]bool // nil once closed
}

type register struct {
	lock   uint16
	fenced bool
}

// Serve starts a server on a Unix socket. What takes place is written to log.
func Serve(path string, gate Gate, log *history.Writer) (*Server, error) {
	if len(path) > 100 {
		return nil, fmt.Errorf("%s is too long for the name of a socket: set TMPDIR to a directory with a shorter name", path)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	s := &Server{gateMode: gate, log: log, listener: listener, registers: make(map[register]int64), conns: make(map[net.Conn]bool)}
	s.serving.Go(s.accept)
	return s, nil
}

// Inside sets what is called when a worker has read the fenced register, before it is answered: its process is inside the critical
// section then, and will write next. It is called until it returns true. nil: nothing.
func (s *Server) Inside(f func(process uint32, lock uint16) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside = f
}

// Close ends all connections.
func (s *Server) Close() {
	s.listener.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.conns = nil
	s.mu.Unlock()
	s.serving.Wait()
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.conns == nil {
			conn.Close()
		} else {
			s.conns[conn] = true
			s.serving.Go(func() { s.serve(conn) })
		}
		s.mu.Unlock()
	}
}

func (s *Server) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	request, answer := make([]byte, requestSize), make([]byte, answerSize)
	for {
		if _, err := io.ReadFull(conn, request); err != nil {
			return
		}
		value, err := s.access(decode(request))
		answer[0] = answerOK
		if err != nil {
			answer[0] = answerStale
		}
		binary.LittleEndian.PutUint64(answer[1:], uint64(value))
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

// token is a number that fences.
type token uint64

func (t token) FenceToken() (uint64, error) { return uint64(t), nil }

// access carries a request out, or keeps it until somebody else has come. Its error is that of the fence.
func (s *Server) access(r Request) (value int64, err error) {
	if h := s.keeps(r); h != nil {
		h.caught(r.Process)
		<-h.goOn
		defer close(h.carried)
		return s.pass(r)
	}
	value, err = s.pass(r)
	if err == nil {
		s.letGo(r)
	}
	return value, err
}

// pass carries a request out.
func (s *Server) pass(r Request) (value int64, err error) {
	passes := r.Fenced && (s.gateMode == GateAll || s.gateMode == GateWrites && r.Write)
	if passes && r.Token != 0 { // a store without tokens has no fence
		err = s.gate.Do(context.Background(), strconv.Itoa(int(r.Lock)), token(r.Token), func() error {
			value = s.apply(r)
			return nil
		})
	} else {
		value = s.apply(r)
	}
	if err == nil && r.Fenced && !r.Write {
		s.tellInside(r)
	}
	return value, err
}

func (s *Server) apply(r Request) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := register{r.Lock, r.Fenced}
	op, flags := history.Read, history.Flag(0)
	if r.Write {
		op = history.Write
		s.registers[key] = r.Value
	}
	if r.Fenced {
		flags = history.Fenced
	}
	s.log.Append(history.Record{Op: op, Phase: history.Applied, Outcome: history.OK, Flags: flags, Lock: r.Lock, Worker: r.Worker,
		Process: r.Process, Attempt: r.Attempt, Token: r.Token, Value: s.registers[key]})
	return s.registers[key]
}

func (s *Server) tellInside(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inside != nil && s.inside(r.Process, r.Lock) {
		s.inside = nil
	}
}
