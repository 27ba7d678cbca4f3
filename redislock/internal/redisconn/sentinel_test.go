package redisconn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// watched is a primary with a replica, and real Sentinels that could replace it.
type watched struct {
	primary, replica *servers.Redis
	sentinels        []*servers.Sentinel
}

func watch(t *testing.T, redis []servers.RedisOption, sentinel ...servers.SentinelOption) *watched {
	t.Helper()
	w := &watched{primary: start(t, redis...)}
	w.replica = start(t, append(redis, servers.RedisReplicaOf(w.primary))...)
	for range 3 {
		s, err := servers.StartSentinel(within(t, patience), "my-primary", w.primary, sentinel...)
		servers.Need(t, err)
		t.Cleanup(func() { s.Close() })
		w.sentinels = append(w.sentinels, s)
	}
	for _, s := range w.sentinels {
		if err := s.Knows(within(t, patience), 1, 2); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// hosts of the URL.
func (w *watched) hosts() string {
	var all []string
	for _, s := range w.sentinels {
		all = append(all, s.Addr())
	}
	return strings.Join(all, ",")
}

// TestSentinelKill: the primary is killed. Requests fail as unknown until the replica has taken over, and then go on there, with the
// inbox. A Sentinel that has not heard of it is outvoted.
func TestSentinelKill(t *testing.T) {
	t.Parallel()
	password := []servers.RedisOption{servers.RedisPassword("right")}
	w := watch(t, password, servers.SentinelPassword("sesame"))
	stale := newFake(t, w.primary.Addr(), 0)
	url := "redis+sentinel://:right@" + stale.address + "," + w.hosts() + "/my-primary?sentinel-password=sesame&timeout=2s"
	c := dial(t, url)
	_, d := open(t, c, slowProbes)
	d.await(t, "up", 1)
	if err := set(t, c); err != nil {
		t.Fatal(err)
	}
	if err := w.replica.Sync(within(t, patience)); err != nil {
		t.Fatal(err)
	}
	w.primary.Kill()
	eventually(t, "the replica has taken over", func() bool {
		err := set(t, c)
		if err != nil && driver.Answered(err) {
			t.Fatalf("%T %v", err, err)
		}
		return err == nil
	})
	if !isAt(t, c, w.replica) {
		t.Error("it is elsewhere")
	}
	d.await(t, "up", 2)
	if !hears(t, w.replica) {
		t.Error("the inbox is elsewhere")
	}
	if err := w.primary.RestartAs(within(t, patience)); err != nil { // it does not know that it was replaced
		t.Fatal(err)
	}
	if c := dial(t, url); !isAt(t, c, w.replica) {
		t.Error("another client is with the old primary")
	}
}

// TestSentinelFailover: somebody tells the Sentinels to change the primary, which is demoted while it is used.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	w := watch(t, nil)
	c := dial(t, "redis+sentinel://"+w.hosts()+"/my-primary?timeout=2s")
	if err := set(t, c); err != nil {
		t.Fatal(err)
	}
	if err := w.sentinels[0].Failover(within(t, patience)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the replica has taken over", func() bool {
		err := set(t, c)
		if err != nil && driver.Answered(err) && !errors.Is(err, ErrReadOnly) {
			t.Fatalf("%T %v", err, err)
		}
		return err == nil && isAt(t, c, w.replica)
	})
}

// TestManualFailover: a primary without Sentinels hands over, and its address moves: FAILOVER demotes it while it is connected to.
func TestManualFailover(t *testing.T) {
	primary := start(t)
	replica := start(t, servers.RedisReplicaOf(primary))
	proxy := proxyTo(t, primary.Addr())
	c := dial(t, "redis://"+proxy.Addr())
	_, d := open(t, c, slowProbes)
	d.await(t, "up", 1)
	if err := set(t, c); err != nil {
		t.Fatal(err)
	}
	if err := primary.Failover(within(t, patience)); err != nil {
		t.Fatal(err)
	}
	if err := proxy.Retarget(replica.Addr()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it writes at the new primary", func() bool { return set(t, c) == nil })
	if !isAt(t, c, replica) {
		t.Error("it is elsewhere")
	}
	eventually(t, "the inbox is at the new primary", func() bool { return hears(t, replica) && !hears(t, primary) })
}

func TestSentinelRefuses(t *testing.T) {
	t.Parallel()
	w := watch(t, []servers.RedisOption{servers.RedisPassword("right")}, servers.SentinelPassword("sesame"))
	for what, try := range map[string]struct {
		user, path string
		kind       error
	}{
		"no name of a primary":  {":right@", "/other?sentinel-password=sesame", ErrSentinel},
		"no password":           {":right@", "/my-primary", ErrAuth},
		"wrong password":        {":right@", "/my-primary?sentinel-password=" + canary, ErrAuth},
		"wrong user":            {":right@", "/my-primary?sentinel-password=" + canary + "&sentinel-user=nobody", ErrAuth},
		"no server's password":  {"", "/my-primary?sentinel-password=sesame", ErrAuth},
		"wrong server password": {":" + canary + "@", "/my-primary?sentinel-password=sesame", ErrAuth},
		"no such database":      {":right@", "/my-primary/999?sentinel-password=sesame", ErrDatabase},
	} {
		err := refuse(t, "redis+sentinel://"+try.user+w.hosts()+try.path)
		isRefused(t, what, err, try.kind)
		noSecret(t, what, fmt.Errorf("%+v %#v", err, err))
		if what == "no server's password" && !strings.Contains(err.Error(), "redis+sentinel://user:password@") {
			t.Errorf("%s: %v", what, err)
		}
	}
	isRefused(t, "a server", refuse(t, "redis+sentinel://:right@"+w.primary.Addr()+"/my-primary"), ErrSentinel)
	isRefused(t, "a server without a password", refuse(t, "redis+sentinel://"+start(t).Addr()+"/my-primary"), ErrSentinel)
}

func TestSentinelTLS(t *testing.T) {
	t.Parallel()
	w := watch(t, []servers.RedisOption{servers.RedisTLS(servers.Flawless)}, servers.SentinelTLS(servers.Flawless))
	ca := "/my-primary?ca=" + w.primary.Certificates.CA
	c := dial(t, "rediss+sentinel://"+w.hosts()+ca)
	if err := set(t, c); err != nil {
		t.Error(err)
	}
	dial(t, "rediss+sentinel://"+w.hosts()+ca+"&servername=localhost")
	for what, url := range map[string]string{
		"no authority": "rediss+sentinel://" + w.hosts() + "/my-primary?timeout=1s",
		"another name": "rediss+sentinel://" + w.hosts() + ca + "&servername=example.org",
		"plain":        "redis+sentinel://" + w.hosts() + "/my-primary?timeout=1s",
	} {
		if err := refuse(t, url); driver.Answered(err) || !strings.Contains(err.Error(), "3 Sentinels") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestSentinelsHang: they are stopped, and nothing waits for them for longer than its context.
func TestSentinelsHang(t *testing.T) {
	t.Parallel()
	w := watch(t, nil, servers.SentinelDownAfter(time.Minute))
	url := "redis+sentinel://" + w.hosts() + "/my-primary?timeout=10m"
	c := dial(t, url)
	for _, s := range w.sentinels {
		if err := s.Stop(); err != nil {
			t.Skip(err)
		}
	}
	if !isAt(t, c, w.primary) {
		t.Error("they are missed though nobody needs them")
	}
	do(t, w.primary, "CLIENT", "KILL", "TYPE", "normal")
	eventually(t, "the break was noticed", func() bool {
		return errors.Is(together(t, c, 1, 50*time.Millisecond)[0], context.DeadlineExceeded)
	})
	allDeadline(t, "requests", together(t, c, 20, 50*time.Millisecond))
	nothingLeft(t, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if _, err := Dial(ctx, options(t, url)); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "Sentinels") {
			t.Errorf("Dial: %v", err)
		}
	})
	Doubt(c)
	for _, s := range w.sentinels {
		if err := s.Continue(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "it works again", func() bool { return isAt(t, c, w.primary) })
}

// TestSentinelCloses: nothing is left of a client, its inbox, and a doubt that is being looked into.
func TestSentinelCloses(t *testing.T) {
	server := start(t)
	all, hosts := fakes(t, place{server.Addr(), 1})
	nothingLeft(t, func() {
		c, err := Dial(within(t, patience), options(t, "redis+sentinel://"+hosts+"/m?timeout=10m"))
		if err != nil {
			t.Fatal(err)
		}
		i := OpenInbox(c, "inbox", Events{})
		if err := i.Await(within(t, patience)); err != nil {
			t.Error(err)
		}
		all[0].change(func() { all[0].silent = true })
		Doubt(c)
		c.Close()
		i.Close()
		if err := set(t, c); err != driver.ErrClosed {
			t.Errorf("afterwards: %v", err)
		}
	})
	eventually(t, "the server has no connection of ours", func() bool { return connections(t, server) == "" })
}
