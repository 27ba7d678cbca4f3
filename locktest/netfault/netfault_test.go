package netfault_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"holdfast.dev/locktest/netfault"
)

// patience is how long a test waits for what must happen: generous, because it is only used up by a failure.
const patience = 30 * time.Second

// A server hands every connection that it accepts to the test.
type server struct {
	net.Listener
	conns chan net.Conn
}

func listen(t *testing.T, network, address string) *server {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{l, make(chan net.Conn, 100)}
	go func() {
		defer close(s.conns)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.SetDeadline(time.Now().Add(patience))
			s.conns <- c
		}
	}()
	t.Cleanup(func() {
		l.Close()
		for c := range s.conns {
			c.Close()
		}
	})
	return s
}

// echo answers with what it is sent, until the end.
func (s *server) echo() {
	for c := range s.conns {
		go func() {
			defer c.Close()
			io.Copy(c, c)
		}()
	}
}

func (s *server) next(t *testing.T) net.Conn {
	t.Helper()
	select {
	case c := <-s.conns:
		t.Cleanup(func() { c.Close() })
		return c
	case <-time.After(patience):
		t.Fatal("the server was not connected to")
		return nil
	}
}

// start puts a proxy before target, and checks at the end that it leaves no goroutine.
func start(t *testing.T, target string) *netfault.Proxy {
	t.Helper()
	p, err := netfault.New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for stack := range strings.SplitSeq(string(stacks), "\n\n") {
			if strings.Contains(stack, "netfault.(*") {
				t.Errorf("left behind after Close:\n%s", stack)
			}
		}
	})
	return p
}

func echoBehindProxy(t *testing.T) *netfault.Proxy {
	t.Helper()
	s := listen(t, "tcp", "127.0.0.1:0")
	go s.echo()
	return start(t, s.Addr().String())
}

func dial(t *testing.T, p *netfault.Proxy) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// connect dials and waits for the other end, so that the proxy has certainly accepted.
func connect(t *testing.T, p *netfault.Proxy, s *server) (client *net.TCPConn, peer net.Conn) {
	t.Helper()
	client = dial(t, p)
	return client, s.next(t)
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatalf("send %q: %v", text, err)
	}
}

func expect(t *testing.T, c net.Conn, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("received %q, %v; want %q", got[:n], err, text)
	}
}

// expectSilence fails if anything arrives, or the connection ends. What is merely slow it does not see: it can only fail rightly.
func expectSilence(t *testing.T, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	defer c.SetReadDeadline(time.Now().Add(patience))
	got := make([]byte, 100)
	if n, err := c.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("received %q, %v; want silence", got[:n], err)
	}
}

func expectEnd(t *testing.T, c net.Conn) {
	t.Helper()
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
		t.Fatalf("received %q, %v; want an orderly end", rest, err)
	}
}

func expectReset(t *testing.T, c net.Conn) {
	t.Helper()
	rest, err := io.ReadAll(c)
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || len(rest) > 0 {
		t.Fatalf("received %q, %v; want a reset", rest, err)
	}
}

// expectTurnedAway expects that a new connection is reset, at once or soon.
func expectTurnedAway(t *testing.T, p *netfault.Proxy) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	expectReset(t, c)
}

func awaitHeld(t *testing.T, p *netfault.Proxy, d netfault.Direction, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.AwaitHeld(ctx, d, n); err != nil {
		t.Fatal(err)
	}
}

func awaitConns(t *testing.T, p *netfault.Proxy, n int) {
	t.Helper()
	for begin := time.Now(); p.Conns() != n; time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			t.Fatalf("Conns = %d; want %d", p.Conns(), n)
		}
	}
}

// pattern is n bytes that differ from place to place.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>16) ^ byte(i>>8) ^ byte(i)
	}
	return b
}

func TestPassesEverythingOn(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			address, prefix := "127.0.0.1:0", ""
			if network == "unix" {
				dir, err := os.MkdirTemp("", "nf") // short: a socket's path has about a hundred bytes
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.RemoveAll(dir) })
				address, prefix = dir+"/s", "unix:"
			}
			s := listen(t, network, address)
			go s.echo()
			c := dial(t, start(t, prefix+s.Addr().String()))
			sent := pattern(3 << 20)
			go func() {
				c.Write(sent)
				c.CloseWrite()
			}()
			got, err := io.ReadAll(c)
			if err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d of %d bytes came back whole (%v), error %v", len(got), len(sent), bytes.Equal(got, sent), err)
			}
		})
	}
}

// An end that both sides agreed on loses nothing of what is still on its way to a slow reader.
func TestOrderlyEndIsNoReset(t *testing.T) {
	s := listen(t, "tcp", "127.0.0.1:0")
	p := start(t, s.Addr().String())
	client, peer := connect(t, p, s)
	client.CloseWrite()
	sent := pattern(1 << 20)
	go func() {
		peer.Write(sent)
		peer.Close()
	}()
	for begin := time.Now(); p.Conns() > 0 && time.Since(begin) < time.Second; { // a second: the buffers may be too small
		time.Sleep(time.Millisecond)
	}
	if got, err := io.ReadAll(client); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes arrived, error %v", len(got), len(sent), err)
	}
}

func TestConns(t *testing.T) {
	s := listen(t, "tcp", "127.0.0.1:0")
	p := start(t, s.Addr().String())
	for range 3 {
		client, peer := connect(t, p, s)
		if n := p.Conns(); n != 1 {
			t.Fatalf("Conns = %d; want 1", n)
		}
		client.Close()
		expectEnd(t, peer)
		peer.Close()
		awaitConns(t, p, 0)
	}
}

func TestResetsArePassedOn(t *testing.T) {
	s := listen(t, "tcp", "127.0.0.1:0")
	p := start(t, s.Addr().String())
	client, peer := connect(t, p, s)
	client.SetLinger(0)
	client.Close()
	expectReset(t, peer)

	client, peer = connect(t, p, s)
	peer.(*net.TCPConn).SetLinger(0)
	peer.Close()
	expectReset(t, client)
}

func TestTarget(t *testing.T) {
	if _, err := netfault.New("no port"); err == nil || !strings.Contains(err.Error(), "host:port") {
		t.Errorf("a target without a port: %v; want an error that says what to write", err)
	}
	s := listen(t, "tcp", "127.0.0.1:0")
	s.Close()
	expectTurnedAway(t, start(t, s.Addr().String()))
}

// Who was there before stays with the old server; who comes then is with the new one.
func TestRetarget(t *testing.T) {
	one, two := listen(t, "tcp", "127.0.0.1:0"), listen(t, "tcp", "127.0.0.1:0")
	p := start(t, one.Addr().String())
	before, peer := connect(t, p, one)
	if err := p.Retarget(two.Addr().String()); err != nil {
		t.Fatal(err)
	}
	after, other := connect(t, p, two)
	for _, c := range []struct{ from, to net.Conn }{{before, peer}, {after, other}} {
		send(t, c.from, "x")
		expect(t, c.to, "x")
	}
	if err := p.Retarget("no port"); err == nil || !strings.Contains(err.Error(), "host:port") {
		t.Errorf("a target without a port: %v; want an error that says what to write", err)
	}
	connect(t, p, two) // as before
}

func TestCloseTwiceAndVerbsAfterwards(t *testing.T) {
	p := echoBehindProxy(t)
	c := dial(t, p)
	send(t, c, "x")
	expect(t, c, "x")
	p.HoldReplies()
	send(t, c, "held")
	awaitHeld(t, p, netfault.Replies, 4)
	for range 2 {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	expectReset(t, c)
	p.HoldRequests()
	p.Strand()
	p.Cut()
	p.Heal()
}
