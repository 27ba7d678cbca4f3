package redislock_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A gap is a proxy that loses single messages of subscriptions, as a server does whose output buffer for them is full. Everything else
// goes through. It understands of RESP3 what is needed to see where a value ends.
type gap struct {
	listener net.Listener
	target   string
	work     sync.WaitGroup

	mu    sync.Mutex
	loses func(text string) bool // says of each message whether it is lost
	lost  []string
	conns []net.Conn
	mute  map[net.Conn]bool // nothing more arrives at these clients, and they do not notice
	ears  []net.Conn        // clients that have subscribed
}

func newGap(t testing.TB, target string) *gap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gap{listener: listener, target: target, mute: make(map[net.Conn]bool), loses: func(string) bool { return false }}
	g.work.Go(g.accept)
	t.Cleanup(g.close)
	return g
}

func (g *gap) addr() string { return g.listener.Addr().String() }

// lose sets which messages are lost from now on.
func (g *gap) lose(which func(text string) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loses = which
}

// losses is what was lost so far.
func (g *gap) losses() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.lost...)
}

// silence makes the subscriptions that are there now half-open: the server believes in them, and nothing arrives any more.
func (g *gap) silence() (subscriptions int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, client := range g.ears {
		g.mute[client] = true
	}
	return len(g.ears)
}

func (g *gap) close() {
	g.listener.Close()
	g.mu.Lock()
	for _, c := range g.conns {
		c.Close()
	}
	g.conns = nil
	g.mu.Unlock()
	g.work.Wait()
}

func (g *gap) accept() {
	for {
		client, err := g.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", g.target)
		if err != nil {
			client.Close()
			continue
		}
		g.mu.Lock()
		g.conns = append(g.conns, client, server)
		g.mu.Unlock()
		g.work.Go(func() {
			io.Copy(server, client)
			server.Close()
		})
		g.work.Go(func() {
			g.pass(client, bufio.NewReader(server))
			client.Close()
		})
	}
}

// pass brings the server's values to a client, but for what is lost.
func (g *gap) pass(client net.Conn, server *bufio.Reader) {
	for {
		var value bytes.Buffer
		texts, err := readValue(server, &value)
		if err != nil {
			return
		}
		if g.keeps(client, value.Bytes()[0] == '>', texts) {
			continue
		}
		if _, err := client.Write(value.Bytes()); err != nil {
			return
		}
	}
}

// keeps decides whether a value is lost.
func (g *gap) keeps(client net.Conn, push bool, texts []string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.mute[client]:
		return true
	case push && len(texts) >= 2 && texts[0] == "ssubscribe":
		g.ears = append(g.ears, client)
	case push && len(texts) == 3 && texts[0] == "smessage" && g.loses(texts[2]):
		g.lost = append(g.lost, texts[2])
		return true
	}
	return false
}

// readValue copies one value, with all that is in it, and returns its texts.
func readValue(from *bufio.Reader, to *bytes.Buffer) (texts []string, err error) {
	line, err := from.ReadString('\n')
	if err != nil {
		return nil, err
	}
	to.WriteString(line)
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return nil, errors.New("an empty line is no value")
	}
	n, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case '$', '=', '!': // so many bytes
		if n < 0 {
			return nil, nil
		}
		text := make([]byte, n+2)
		if _, err := io.ReadFull(from, text); err != nil {
			return nil, err
		}
		to.Write(text)
		return []string{string(text[:n])}, nil
	case '%', '|': // so many pairs
		n *= 2
	case '*', '~', '>': // so many values
	default: // nothing but the line
		return []string{line[1:]}, nil
	}
	for range max(n, 0) {
		inner, err := readValue(from, to)
		if err != nil {
			return nil, err
		}
		texts = append(texts, inner...)
	}
	return texts, nil
}
