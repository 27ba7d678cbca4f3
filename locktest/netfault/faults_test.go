package netfault_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"holdfast.dev/locktest/netfault"
)

func TestHoldReplies(t *testing.T) {
	p := echoBehindProxy(t)
	c := dial(t, p)
	send(t, c, "one ")
	expect(t, c, "one ")
	p.HoldReplies()
	send(t, c, "two ")
	awaitHeld(t, p, netfault.Replies, 4)
	send(t, c, "three")
	awaitHeld(t, p, netfault.Replies, 9)
	expectSilence(t, c)
	p.Resume()
	expect(t, c, "two three")
	send(t, c, " four")
	expect(t, c, " four")
}

func TestHoldAppliesToNewConnections(t *testing.T) {
	p := echoBehindProxy(t)
	p.HoldReplies()
	c := dial(t, p)
	send(t, c, "x")
	awaitHeld(t, p, netfault.Replies, 1)
	expectSilence(t, c)
	p.Resume()
	expect(t, c, "x")
}

// Rule 1: a held request arrives though its sender has closed, or died.
func TestHeldRequestOutlivesItsSender(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("dies=%v", dies), func(t *testing.T) {
			s := listen(t, "tcp", "127.0.0.1:0")
			p := start(t, s.Addr().String())
			client, peer := connect(t, p, s)
			p.HoldRequests()
			send(t, client, "late")
			awaitHeld(t, p, netfault.Requests, 4)
			if dies {
				client.SetLinger(0)
			}
			client.Close()
			expectSilence(t, peer)
			p.Resume()
			expect(t, peer, "late")
			if dies {
				expectReset(t, peer)
			} else {
				expectEnd(t, peer)
			}
		})
	}
}

// A held reply arrives though the server has died, also when the client has written to it in vain meanwhile.
func TestHeldReplyOutlivesTheServer(t *testing.T) {
	s := listen(t, "tcp", "127.0.0.1:0")
	p := start(t, s.Addr().String())
	client, peer := connect(t, p, s)
	p.HoldReplies()
	send(t, peer, "granted")
	awaitHeld(t, p, netfault.Replies, 7)
	peer.(*net.TCPConn).SetLinger(0)
	peer.Close()
	for range 3 {
		send(t, client, "are you there?")
		expectSilence(t, client)
	}
	p.Resume()
	expect(t, client, "granted")
	expectReset(t, client)
}

// Rule 4: what is held is bounded, the sender feels it, and nothing is lost.
func TestBackPressure(t *testing.T) {
	s := listen(t, "tcp", "127.0.0.1:0")
	p := start(t, s.Addr().String())
	client, peer := connect(t, p, s)
	p.HoldRequests()
	sent := pattern(32 << 20)
	done := make(chan error, 1)
	go func() {
		_, err := client.Write(sent)
		client.CloseWrite()
		done <- err
	}()
	const upkeep = netfault.MaxHeld / 4 // pieces of 256 bytes and more
	awaitHeld(t, p, netfault.Requests, netfault.MaxHeld-upkeep)
	select {
	case err := <-done:
		t.Fatalf("32 MiB were swallowed: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	brief, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if p.AwaitHeld(brief, netfault.Requests, netfault.MaxHeld+64<<10) == nil {
		t.Error("more than MaxHeld is held")
	}
	p.Resume()
	got, err := io.ReadAll(peer)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes arrived, error %v", len(got), len(sent), err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Rule 2: who lost something is reset when all is healed; who did not lives on.
func TestBlackhole(t *testing.T) {
	s := listen(t, "tcp", "127.0.0.1:0")
	p := start(t, s.Addr().String())
	loser, loserPeer := connect(t, p, s)
	other, otherPeer := connect(t, p, s)
	p.HoldRequests()
	send(t, loser, "held, then lost")
	awaitHeld(t, p, netfault.Requests, 15)
	p.Blackhole(netfault.Requests)
	p.Resume()
	// Far more than the buffers of the sockets: the proxy must read it for this to end.
	if _, err := loser.Write(make([]byte, 32<<20)); err != nil {
		t.Fatal(err)
	}
	expectSilence(t, loserPeer)
	send(t, otherPeer, "replies pass")
	expect(t, other, "replies pass")
	p.Heal()
	expectReset(t, loser)
	expectReset(t, loserPeer)
	send(t, other, "so do requests now")
	expect(t, otherPeer, "so do requests now")
}

// The recipe for a half-open connection: the server is gone, and the client never hears of it.
func TestHalfOpen(t *testing.T) {
	s := listen(t, "tcp", "127.0.0.1:0")
	p := start(t, s.Addr().String())
	client, peer := connect(t, p, s)
	p.Blackhole(netfault.Replies)
	p.HalfClose(netfault.Requests)
	expectEnd(t, peer)
	peer.Close()
	expectSilence(t, client)
	send(t, client, "anybody?")
	expectSilence(t, client)
	p.Heal()
	expectReset(t, client)
}

func TestHalfClose(t *testing.T) {
	for name, d := range map[string]netfault.Direction{"requests": netfault.Requests, "replies": netfault.Replies} {
		t.Run(name, func(t *testing.T) { testHalfClose(t, d) })
	}
}

func testHalfClose(t *testing.T, d netfault.Direction) {
	s := listen(t, "tcp", "127.0.0.1:0")
	p := start(t, s.Addr().String())
	client, peer := connect(t, p, s)
	sender, receiver := net.Conn(client), peer
	if d == netfault.Replies {
		sender, receiver = peer, client
	}
	p.HoldRequests()
	p.HoldReplies()
	send(t, sender, "before")
	awaitHeld(t, p, d, 6)
	p.HalfClose(d)
	if _, err := sender.Write(make([]byte, 32<<20)); err != nil { // thrown away: it would not fit anywhere
		t.Fatal(err)
	}
	p.Resume()
	expect(t, receiver, "before")
	expectEnd(t, receiver)
	send(t, receiver, "the other way")
	expect(t, sender, "the other way")
	p.Heal()
	expectReset(t, sender)
}

func TestDelay(t *testing.T) {
	p := echoBehindProxy(t)
	c := dial(t, p)
	const least = 40 * time.Millisecond
	p.Delay(netfault.Both, least, 10*time.Millisecond, 1)
	begin := time.Now()
	send(t, c, "x")
	expect(t, c, "x")
	if took := time.Since(begin); took < 2*least {
		t.Errorf("there and back took %v; want %v at least", took, 2*least)
	}
	p.Delay(netfault.Requests, time.Hour, 0, 1)
	send(t, c, "y")
	awaitHeld(t, p, netfault.Requests, 1)
	p.Delay(netfault.Both, 0, 0, 0)
	send(t, c, "z") // must not overtake
	awaitHeld(t, p, netfault.Requests, 2)
	expectSilence(t, c)
	p.Heal()
	expect(t, c, "yz")
}

func TestResetAfter(t *testing.T) {
	for _, n := range []int{0, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { testResetAfter(t, n) })
	}
}

func testResetAfter(t *testing.T, n int) {
	p := echoBehindProxy(t)
	c := dial(t, p)
	send(t, c, "x")
	expect(t, c, "x")
	p.ResetAfter(netfault.Replies, n)
	send(t, c, "hello, world")
	got, err := io.ReadAll(c)
	if err == nil || len(got) > n || !bytes.HasPrefix([]byte("hello, world"), got) {
		t.Errorf("received %q, %v; want %d bytes at most, and a reset", got, err, n)
	}
	if linger := string(got); linger != "hello, world"[:n] {
		t.Logf("the reset overtook its last bytes: %q", linger)
	}
	c = dial(t, p)
	send(t, c, "hello, world")
	expect(t, c, "hello, world")
	p.ResetAfter(netfault.Both, 1)
	p.Heal()
	send(t, c, "disarmed")
	expect(t, c, "disarmed")
}

// Bytes count over all connections and pieces, and only the one that carries the last is reset.
func TestResetAfterCountsAll(t *testing.T) {
	p := echoBehindProxy(t)
	a, b := dial(t, p), dial(t, p)
	p.ResetAfter(netfault.Requests, 6)
	send(t, a, "abc")
	expect(t, a, "abc")
	send(t, b, "de")
	expect(t, b, "de")
	send(t, a, "f")
	if got, err := io.ReadAll(a); err == nil {
		t.Errorf("received %q and an orderly end; want a reset", got)
	}
	send(t, b, "still here")
	expect(t, b, "still here")
}

func TestCut(t *testing.T) {
	s := listen(t, "tcp", "127.0.0.1:0")
	p := start(t, s.Addr().String())
	client, peer := connect(t, p, s)
	p.HoldRequests()
	p.HoldReplies()
	send(t, client, "dropped")
	send(t, peer, "dropped too")
	awaitHeld(t, p, netfault.Both, 18)
	p.Cut()
	expectReset(t, client)
	expectReset(t, peer)
	client, peer = connect(t, p, s)
	send(t, client, "new") // still held: Cut lifts nothing
	awaitHeld(t, p, netfault.Requests, 3)
	p.Resume()
	expect(t, peer, "new")
}

func TestStrand(t *testing.T) {
	s := listen(t, "tcp", "127.0.0.1:0")
	p := start(t, s.Addr().String())
	old, oldPeer := connect(t, p, s)
	p.HoldRequests()
	p.HoldReplies()
	send(t, old, "late")
	send(t, oldPeer, "never heard")
	awaitHeld(t, p, netfault.Both, 15)
	p.Strand()
	expectReset(t, old)
	expectSilence(t, oldPeer)

	client, peer := connect(t, p, s)
	send(t, client, "undo")
	expect(t, peer, "undo")
	send(t, peer, "done")
	expect(t, client, "done")

	expectSilence(t, oldPeer)
	p.Resume()
	expect(t, oldPeer, "late")
	send(t, oldPeer, "to nobody")
	expectEnd(t, oldPeer)
	oldPeer.Close()
	awaitConns(t, p, 1)
	send(t, client, "unharmed")
	expect(t, peer, "unharmed")
}

func TestRefuse(t *testing.T) {
	p := echoBehindProxy(t)
	old := dial(t, p)
	send(t, old, "x")
	expect(t, old, "x")
	p.Refuse()
	expectTurnedAway(t, p)
	send(t, old, "still served")
	expect(t, old, "still served")
	for _, again := range []func(){p.Accept, p.Heal} {
		p.Refuse()
		again()
		c := dial(t, p)
		send(t, c, "welcome")
		expect(t, c, "welcome")
	}
}

func TestAwaitHeldGivesUp(t *testing.T) {
	p := echoBehindProxy(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.AwaitHeld(ctx, netfault.Both, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("AwaitHeld = %v; want one that is context.Canceled", err)
	}
}
