package redislock_test

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// stop stops the child, and returns when all of its threads stand still.
func (c *child) stop() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		c.t.Fatal(err)
	}
	until(c.t, "the child stands still", func() bool {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", c.cmd.Process.Pid))
		if err != nil {
			c.t.Fatal(err)
		}
		for _, thread := range threads {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", c.cmd.Process.Pid, thread.Name()))
			if _, state, _ := bytes.Cut(stat, []byte(") ")); !bytes.HasPrefix(state, []byte("T")) {
				return false
			}
		}
		return true
	})
}

func (c *child) goOn() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		c.t.Fatal(err)
	}
}

// A waiter whose process stands still is granted the lock, as the server cannot know better, and does not claim it: then the next in
// line gets it, as soon as the time to claim is over. When the process goes on, it finds the old message, and does not believe it: it
// queues again, and is served when its turn has come.
func TestStoppedWaiterIsPassedOver(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const claim, params = time.Second, "guard=0&claim=1s"
	s := dial(t, server.Addr(), params)
	holder := ask("lock", "holder", time.Minute)
	first := take(t, s, holder)
	stopped := task{URL: "redis://" + server.Addr() + "?" + params, Name: "lock", TTL: time.Minute}.start(t)
	stopped.says("ready")
	stopped.tell("lock")
	until(t, "the child waits", func() bool { return len(waiters(t, s, "lock")) == 1 })
	asked := s.Clock().Now()
	next := queue(t, s, ask("lock", "next", time.Minute))

	stopped.stop()
	released := s.Clock().Now()
	release(t, s, holder)
	second := next.served()
	if took := next.granted.Sub(released); took < claim-driver.Margin(claim) {
		t.Errorf("passed over after %v, %v before its time to claim was over", took, claim-took)
	}
	if took := next.granted.Sub(asked); took > 3*time.Second {
		t.Errorf("passed over after %v, only when everybody asks by himself", took)
	}
	if second.Token <= first.Token+1 { // the one between was the stopped one's
		t.Errorf("token %d after %d", second.Token, first.Token)
	}

	stopped.goOn()
	until(t, "the child waits again", func() bool { return len(waiters(t, s, "lock")) == 1 })
	left := s.Clock().Now()
	release(t, s, next.r)
	third := stopped.says("granted")
	if third.Token <= second.Token || third.At.Before(left) {
		t.Errorf("served again with token %d after %d, %v after the release", third.Token, second.Token, third.At.Sub(left))
	}
	stopped.tell("unlock")
	stopped.says("unlocked")
	if now := shown(t, s, "lock"); now != " <- " {
		t.Errorf("at the end: %s", now)
	}
}

// Many of one stopped process are passed over together: after the time that the first had to claim, not after as many times as they are.
// When it goes on, each of them is served once.
func TestStoppedCrowdIsPassedOver(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const size, claim, params = 20, time.Second, "guard=0&claim=1s"
	s := dial(t, server.Addr(), params)
	holder := ask("lock", "holder", time.Minute)
	take(t, s, holder)
	stopped := task{URL: "redis://" + server.Addr() + "?" + params, Name: "lock", TTL: time.Minute, Waiters: size}.start(t)
	stopped.says("waiting")
	asked := s.Clock().Now()
	next := queue(t, s, ask("lock", "next", time.Minute))

	stopped.stop()
	released := s.Clock().Now()
	release(t, s, holder)
	token := next.served().Token
	if took := next.granted.Sub(released); took < claim-driver.Margin(claim) {
		t.Errorf("passed over after %v, before the time to claim was over", took)
	}
	if took := next.granted.Sub(asked); took > checks*3/4 {
		t.Errorf("passed over after %v, only when everybody asks by himself", took)
	}

	stopped.goOn()
	until(t, "all wait again", func() bool { return len(waiters(t, s, "lock")) == size })
	release(t, s, next.r)
	for range size {
		w := stopped.says("granted")
		if w.Token <= token {
			t.Errorf("token %d after %d", w.Token, token)
		}
		token = w.Token
	}
	until(t, "the lock is free", func() bool { return shown(t, s, "lock") == " <- " })
}
