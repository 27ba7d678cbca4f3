package redisconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
)

// diary writes down what an Inbox tells.
type diary struct {
	mu     sync.Mutex
	closed bool
	lines  []string
	late   []string // told after Close
	err    error    // of the last Down
}

func (d *diary) events() Events {
	return Events{
		Message: func(text string) { d.write("message " + text) },
		Up:      func() { d.write("up") },
		Down: func(err error) {
			d.mu.Lock()
			d.err = err
			d.mu.Unlock()
			d.write("down")
		},
	}
}

func (d *diary) write(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
	if d.closed {
		d.late = append(d.late, line)
	}
}

func (d *diary) count(line string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.lines {
		if l == line {
			n++
		}
	}
	return n
}

func (d *diary) await(t *testing.T, line string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d times %q", n, line), func() bool { return d.count(line) >= n })
}

// open opens an inbox for the time of a test, and checks that it tells nothing when it was closed.
func open(t *testing.T, c rueidis.Client, p pace) (*Inbox, *diary) {
	d := &diary{}
	i := openInbox(c, "inbox", d.events(), p)
	t.Cleanup(func() {
		i.Close()
		d.mu.Lock()
		d.closed = true
		d.mu.Unlock()
		i.Close()
		c.Close()
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.late) > 0 {
			t.Errorf("told after Close: %q", d.late)
		}
		for n, line := range d.lines { // up, messages, down, up …
			if up := line == "up"; up != (n == 0 || d.lines[n-1] == "down") {
				t.Errorf("%q is out of order at %d of %q", line, n, d.lines)
				break
			}
		}
	})
	return i, d
}

var slowProbes = pace{probe: time.Hour, answer: patience, close: 2 * time.Second}

// both runs a test with each protocol.
func both(t *testing.T, f func(t *testing.T, s *servers.Redis, c rueidis.Client)) {
	for name, resp2 := range map[string]bool{"RESP2": true, "RESP3": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			o := options(t, "redis://"+s.Addr())
			o.AlwaysRESP2 = resp2
			c, err := Dial(within(t, patience), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			f(t, s, c)
		})
	}
}

func TestInboxMessages(t *testing.T) {
	both(t, func(t *testing.T, s *servers.Redis, c rueidis.Client) {
		i, d := open(t, c, slowProbes)
		if err := i.Await(within(t, patience)); err != nil {
			t.Fatal(err)
		}
		conn, err := s.Dial(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		want := []string{"up"}
		for n := range 500 {
			text := fmt.Sprint(n)
			if got, err := conn.Do(context.Background(), "SPUBLISH", "inbox", text); err != nil || got != int64(1) {
				t.Fatalf("%v receivers, %v", got, err)
			}
			want = append(want, "message "+text)
		}
		d.await(t, "message 499", 1)
		d.mu.Lock()
		defer d.mu.Unlock()
		if !slices.Equal(d.lines, want) {
			t.Errorf("in another order: %q", d.lines)
		}
	})
}

// TestInboxComesBack breaks the subscription in every way in which the server tells.
func TestInboxComesBack(t *testing.T) {
	both(t, func(t *testing.T, s *servers.Redis, c rueidis.Client) {
		i, d := open(t, c, slowProbes)
		d.await(t, "up", 1)
		for n := 1; n <= 10; n++ {
			do(t, s, "CLIENT", "KILL", "TYPE", "pubsub")
			d.await(t, "up", 1+n)
		}
		s.Kill()
		d.await(t, "down", 11)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		if err := i.Await(ctx); !errors.Is(err, context.DeadlineExceeded) || driver.Answered(err) {
			t.Errorf("no server: %v", err)
		}
		if err := s.Restart(within(t, patience)); err != nil {
			t.Fatal(err)
		}
		if err := i.Await(within(t, patience)); err != nil {
			t.Errorf("restarted: %v", err)
		}
		do(t, s, "SPUBLISH", "inbox", "after all")
		d.await(t, "message after all", 1)
	})
}

// TestInboxUnsubscribed: the server ends the subscription and leaves the connection alone, as when a slot moves.
func TestInboxUnsubscribed(t *testing.T) {
	s := start(t, servers.RedisSet("cluster-enabled", "yes"))
	do(t, s, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	eventually(t, "the cluster is up", func() bool {
		_, err := s.Do(context.Background(), "SPUBLISH", "inbox", "x")
		return err == nil
	})
	i, d := open(t, dial(t, "redis://"+s.Addr()), slowProbes)
	if err := i.Await(within(t, patience)); err != nil {
		t.Fatal(err)
	}
	slot := do(t, s, "CLUSTER", "KEYSLOT", "inbox").(int64)
	do(t, s, "CLUSTER", "DELSLOTS", fmt.Sprint(slot))
	d.await(t, "down", 1)
	d.mu.Lock()
	if !errors.Is(d.err, errUnsubscribed) {
		t.Errorf("down for another reason: %v", d.err)
	}
	d.mu.Unlock()
	do(t, s, "CLUSTER", "ADDSLOTS", fmt.Sprint(slot))
	d.await(t, "up", 2)
}

// TestInboxHalfOpen: nobody says that the connection is gone. timeout= is ten minutes, so that only the inbox itself can notice.
func TestInboxHalfOpen(t *testing.T) {
	for _, direction := range []netfault.Direction{netfault.Both, netfault.Replies, netfault.Requests} {
		proxy, c := faulty(t, false)
		_, d := open(t, c, pace{probe: 100 * time.Millisecond, answer: patience, close: 2 * time.Second})
		d.await(t, "up", 1)
		proxy.Blackhole(direction)
		d.await(t, "down", 1)
		d.mu.Lock()
		if !errors.Is(d.err, errSilent) {
			t.Errorf("%v: down for another reason: %v", direction, d.err)
		}
		d.mu.Unlock()
		proxy.Heal()
		d.await(t, "up", 2)
	}
}

// TestInboxIdle: nothing is wrong, so that the inbox stays up, and its owner does not see how it is watched.
func TestInboxIdle(t *testing.T) {
	for _, resp2 := range []bool{false, true} {
		s := start(t)
		o := options(t, "redis://"+s.Addr())
		o.AlwaysRESP2 = resp2
		_, d := open(t, adopted(t, o), pace{probe: time.Second, answer: patience, close: 2 * time.Second})
		d.await(t, "up", 1)
		eventually(t, "three probes were sent", func() bool {
			info, err := s.Info(context.Background(), "commandstats")
			n := 0
			fmt.Sscanf(info["cmdstat_spublish"], "calls=%d,", &n)
			return err == nil && n >= 3
		})
		d.mu.Lock()
		if len(d.lines) != 1 {
			t.Errorf("it told %q, %v", d.lines, d.err)
		}
		d.mu.Unlock()
	}
}

// adopted connects as a program would that brings its own client along.
func adopted(t *testing.T, o Target) rueidis.Client {
	t.Helper()
	raw, err := rueidis.NewClient(o.ClientOption)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(raw.Close)
	return Adopt(raw)
}

// TestInboxOldSession: a connection that was given up still delivers, and so does one whose inbox was closed.
func TestInboxOldSession(t *testing.T) {
	s := start(t)
	i, d := open(t, dial(t, "redis://"+s.Addr()), slowProbes)
	for n := 1; n <= 2; n++ {
		d.await(t, "up", n)
		i.mu.Lock()
		old := i.session
		i.mu.Unlock()
		if n == 1 {
			do(t, s, "CLIENT", "KILL", "TYPE", "pubsub")
			d.await(t, "down", 1)
		} else {
			i.Close()
		}
		old.message(rueidis.PubSubMessage{Channel: "inbox", Message: "old"})
		old.up = false // as if it had never been
		old.subscription(rueidis.PubSubSubscription{Kind: "ssubscribe", Channel: "inbox"})
	}
	if d.count("message old") > 0 || d.count("up") != 2 || i.up.Load() {
		t.Errorf("an old session was heard: %q", d.lines)
	}
}

// TestInboxNotAllowed: first the channel is forbidden, then only writing to it.
func TestInboxNotAllowed(t *testing.T) {
	s := start(t, servers.RedisUsers("default off", "app on >"+canary+" ~* &other +@all"))
	c := adopted(t, options(t, "redis://app:"+canary+"@"+s.Addr()))
	i, d := open(t, c, pace{probe: time.Second, answer: patience, close: 2 * time.Second})
	isRefused(t, "a channel that is forbidden", i.Await(within(t, patience)), ErrPermission)
	do(t, s, "ACL", "SETUSER", "app", "&inbox", "-spublish")
	d.await(t, "up", 1)
	do(t, s, "ACL", "LOG", "RESET")
	eventually(t, "a probe was refused", func() bool {
		log, _ := do(t, s, "ACL", "LOG").([]any)
		return strings.Contains(fmt.Sprint(log), "spublish")
	})
	do(t, s, "SPUBLISH", "inbox", "hello")
	d.await(t, "message hello", 1)
	if n := d.count("down"); n > 0 {
		t.Errorf("it went down %d times: %v", n, d.err)
	}
}

// TestInboxCloseWhileConnecting: the server hangs at every stage; Close is bounded, and nothing is told afterwards.
func TestInboxCloseWhileConnecting(t *testing.T) {
	proxy, c := faulty(t, false)
	proxy.HoldReplies()
	for range 3 {
		before := proxy.Conns()
		i, d := open(t, c, pace{probe: time.Hour, answer: time.Hour, close: 10 * time.Millisecond})
		eventually(t, "it connects", func() bool { return proxy.Conns() > before })
		i.Close()
		if err := i.Await(context.Background()); err != driver.ErrClosed {
			t.Errorf("after Close: %v", err)
		}
		if n := d.count("up"); n > 0 {
			t.Error("it was up")
		}
	}
}

// TestInboxCloseRaces closes while messages and breaks come in.
func TestInboxCloseRaces(t *testing.T) {
	s := start(t)
	c := dial(t, "redis://"+s.Addr())
	stop, all := make(chan struct{}), sync.WaitGroup{}
	all.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s.Do(context.Background(), "SPUBLISH", "inbox", "x")
				s.Do(context.Background(), "CLIENT", "KILL", "TYPE", "pubsub")
			}
		}
	})
	for n := range 30 {
		d := &diary{}
		i := openInbox(c, "inbox", d.events(), usualPace)
		if n%2 == 0 {
			i.Await(context.Background())
		}
		i.Close()
		d.mu.Lock()
		d.closed = true
		d.mu.Unlock()
		defer func() {
			if len(d.late) > 0 {
				t.Errorf("told after Close: %q", d.late)
			}
		}()
	}
	close(stop)
	all.Wait()
}

// TestInboxForeignClient: the inbox of a client that a program brought along.
func TestInboxForeignClient(t *testing.T) {
	s := start(t)
	raw, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, Dialer: net.Dialer{Timeout: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	i, d := open(t, Adopt(raw), usualPace)
	if err := i.Await(within(t, patience)); err != nil {
		t.Fatal(err)
	}
	do(t, s, "CLIENT", "KILL", "TYPE", "pubsub")
	d.await(t, "up", 2)
}
