package netfault_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"holdfast.dev/locktest/netfault"
)

// Rules 1, 2 and 6: whatever the faults, a client receives a beginning of what it sent, unchanged; after Heal everything works;
// and nothing is left after Close (start checks it).
func TestStorm(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p := echoBehindProxy(t)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					echoOnce(t, p)
				}
			}
		})
	}
	verbs := []func(){
		p.HoldRequests, p.HoldReplies, p.Resume, p.Cut, p.Strand, p.Refuse, p.Accept, p.Heal, p.Heal,
		func() { p.Blackhole(direction(random)) },
		func() { p.HalfClose(direction(random)) },
		func() { p.ResetAfter(direction(random), random.IntN(100_000)) },
		func() { p.Delay(direction(random), time.Millisecond, 3*time.Millisecond, seed) },
		func() { p.Delay(netfault.Both, 0, 0, 0) },
	}
	for range 300 {
		verbs[random.IntN(len(verbs))]()
		time.Sleep(time.Duration(random.IntN(2000)) * time.Microsecond) // the pace of the storm, not a condition
	}
	p.Heal()
	c := dial(t, p)
	send(t, c, "calm")
	expect(t, c, "calm")
	close(stop)
	p.Close()
	clients.Wait()
}

func direction(random *rand.Rand) netfault.Direction {
	return netfault.Direction(1 + random.IntN(3))
}

// echoOnce sends and receives until its connection ends.
func echoOnce(t *testing.T, p *netfault.Proxy) {
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return
	}
	c := conn.(*net.TCPConn)
	defer c.Close()
	sent := pattern(200_000)
	var sender sync.WaitGroup
	defer sender.Wait()
	sender.Go(func() {
		for rest := sent; len(rest) > 0; rest = rest[min(len(rest), 5000):] {
			if _, err := c.Write(rest[:min(len(rest), 5000)]); err != nil {
				return
			}
		}
		c.CloseWrite()
	})
	got, _ := io.ReadAll(c)
	c.Close()
	if !bytes.HasPrefix(sent, got) {
		t.Errorf("received %d bytes that are not the beginning of what was sent", len(got))
	}
}
