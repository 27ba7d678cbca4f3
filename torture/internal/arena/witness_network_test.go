package arena

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev/locktest/netfault"
)

// much is more than sockets keep for who does not read: when it has been written, or is gone from the server, its beginning has been read.
const much = 8 << 20

// A line is a connection to the server, over the way of a process.
type line struct {
	net.Conn
	*bufio.Reader
	way int
}

// dial connects over a way. Nothing on it takes for ever.
func (s *stage) dial(way int) *line {
	s.Helper()
	conn, err := net.Dial("tcp", s.way(way).Addr())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return &line{conn, bufio.NewReader(conn), way}
}

// lines returns a connection over each way, which works.
func (s *stage) lines(name string) []*line {
	s.Helper()
	var all []*line
	for way := range ways {
		l := s.dial(way)
		if answer, err := l.ask("CLIENT SETNAME " + name); err != nil || answer != "+OK" {
			s.Fatalf("way %d: %q, %v", way, answer, err)
		}
		all = append(all, l)
	}
	return all
}

func (l *line) Read(p []byte) (int, error) { return l.Reader.Read(p) }

func (l *line) answer() (string, error) {
	text, err := l.ReadString('\n')
	return strings.TrimSpace(text), err
}

func (l *line) ask(command string) (string, error) {
	if _, err := io.WriteString(l.Conn, command+"\r\n"); err != nil {
		return "", err
	}
	return l.answer()
}

// works reports whether a new connection over the way does.
func (s *stage) works(way int) bool {
	conn, err := net.Dial("tcp", s.way(way).Addr())
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	answer, err := (&line{conn, bufio.NewReader(conn), way}).ask("PING")
	return err == nil && answer == "+PONG"
}

// allWork: after a fault new connections do, on every way.
func (s *stage) allWork() {
	s.Helper()
	for way := range ways {
		if !s.works(way) {
			s.Errorf("way %d does not work any more", way)
		}
	}
}

// cut: the connections of one way are reset.
func cut(s *stage) {
	lines, broken := s.lines("ask"), 0
	s.play()
	for _, l := range lines {
		if answer, err := l.ask("PING"); err != nil {
			broken++
		} else if answer != "+PONG" {
			s.Errorf("way %d: %q", l.way, answer)
		}
	}
	if broken != 1 {
		s.Errorf("%d connections were cut; want 1", broken)
	}
	s.allWork()
}

// resetInReply: an answer begins, and does not end.
func resetInReply(s *stage) {
	lines, broken := s.lines("ask"), 0
	text := strings.Repeat("x", 1000)
	s.play(func() {
		for _, l := range lines {
			header, err := l.ask("ECHO " + text)
			if err == nil && header != "$1000" {
				s.Errorf("way %d: %q", l.way, header)
			}
			if _, short := io.CopyN(io.Discard, l, 1002); err != nil || short != nil {
				broken++
			}
		}
	})
	if broken != 1 {
		s.Errorf("%d connections were reset; want 1", broken)
	}
	s.allWork()
}

// A silence is a fault that loses bytes and tells nobody, until it is over: then who has lost some is reset.
type silence struct {
	requests, replies bool // are lost
	refuses           bool // new connections
	ends              bool // the server sees its side end
	on                int  // so many ways
}

func (want silence) seen(s *stage) {
	asking, hearing := s.lines("ask"), s.lines("hear")
	for _, l := range hearing {
		if _, err := l.ask("SUBSCRIBE news"); err != nil {
			s.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, l, int64(len("$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n"))); err != nil {
			s.Fatal(err)
		}
	}
	var answered, heard, told atomic.Int32
	var reading sync.WaitGroup
	refused := 0
	read := func(l *line, length int, whole *atomic.Int32) {
		reading.Go(func() {
			if _, err := io.CopyN(io.Discard, l, int64(length)); err == nil {
				whole.Add(1)
			} else {
				told.Add(1)
			}
		})
	}
	bulk := fmt.Sprintf("$%d\r\n%s\r\n", much, strings.Repeat("x", much))
	s.play(func() {
		var writing sync.WaitGroup
		for i, l := range asking {
			read(l, len(":1\r\n"+bulk), &answered)
			read(hearing[i], len("*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n"+bulk), &heard)
			writing.Go(func() { io.WriteString(l.Conn, "INCR hits\r\n*2\r\n$4\r\nECHO\r\n"+bulk) })
		}
		writing.Wait()
		s.do("PUBLISH", "news", strings.Repeat("x", much))
		s.until("the server has sent what it had to", func() bool { return s.sent(!want.requests) })
		for way := range ways {
			if want.refuses && !s.works(way) { // else some take them, and say nothing
				refused++
			}
		}
		if want.ends {
			s.until("the server sees the end of connections", func() bool { return len(s.clients("ask")) < ways })
		} else if n := len(s.clients("ask")); n != ways {
			s.Errorf("the server has %d of %d connections", n, ways)
		}
		if n := told.Load(); n > 0 {
			s.Errorf("%d connections were told", n)
		}
	})
	reading.Wait()
	lost := func(is bool) int {
		if is {
			return want.on
		}
		return 0
	}
	s.do("INCRBY", "hits", "0")
	s.same("answers", int(answered.Load()), ways-want.on)
	s.same("requests that arrived", s.do("GET", "hits"), strconv.Itoa(ways-lost(want.requests)))
	s.same("messages", int(heard.Load()), ways-lost(want.replies))
	s.same("ways that refuse", refused, lost(want.refuses))
	s.allWork()
}

// sent reports whether the server has got rid of all its answers, with those that each connection is to be given.
func (s *stage) sent(echoed bool) bool {
	for _, client := range append(s.clients("ask"), s.clients("hear")...) {
		if !strings.Contains(client, " obl=0 oll=0 ") || echoed && strings.Contains(client, " name=ask ") && !strings.Contains(client, " cmd=echo ") {
			return false
		}
	}
	return true
}

// small sends a request over each way, and returns the one that is not answered when all others were.
func (s *stage) small(lines []*line) (silent *line, answer <-chan error) {
	s.Helper()
	type result struct {
		way int
		err error
	}
	results := make(chan result, len(lines))
	for _, l := range lines {
		go func() {
			_, err := l.ask("INCR hits")
			results <- result{l.way, err}
		}()
	}
	waiting := map[int]bool{0: true, 1: true, 2: true}
	for range len(lines) - 1 {
		r := <-results
		if r.err != nil {
			s.Fatalf("way %d: %v", r.way, r.err)
		}
		delete(waiting, r.way)
	}
	late := make(chan error, 1)
	go func() { late <- (<-results).err }()
	for way := range waiting {
		silent = lines[way]
	}
	return silent, late
}

// held: the bytes of a way are kept back.
func (s *stage) held(l *line, d netfault.Direction) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	if err := s.way(l.way).AwaitHeld(ctx, d, 1); err != nil {
		s.Fatal(err)
	}
}

// delay: a request does not arrive at once, but it does.
func delay(s *stage) { late(s, netfault.Requests, "2") }

// lateReply: the server has done it, and the answer comes when it is over.
func lateReply(s *stage) { late(s, netfault.Replies, "3") }

// late: something is held on its way, when the server has seen so many requests, and comes in the end.
func late(s *stage, d netfault.Direction, seen string) {
	lines := s.lines("ask")
	var answer <-chan error
	s.play(func() {
		var l *line
		l, answer = s.small(lines)
		s.held(l, d)
		s.same("requests", s.do("GET", "hits"), seen)
	})
	if err := <-answer; err != nil {
		s.Error(err)
	}
	s.allWork()
}

// lateRequest: the connection breaks, the client connects anew, and then its request arrives.
func lateRequest(s *stage) {
	lines := s.lines("ask")
	var late <-chan error
	s.play(func() {
		var l *line
		l, late = s.small(lines)
		s.held(l, netfault.Requests)
	}, func() {
		if err := <-late; err == nil {
			s.Error("the connection was not broken")
		}
		s.allWork()
		s.same("requests", s.do("GET", "hits"), "2")
	})
	s.until("the late request has arrived", func() bool { return s.do("GET", "hits") == "3" })
	s.allWork()
}
