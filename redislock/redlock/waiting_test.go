package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock/redlock"
)

// TestSplitVote: three clients reach three nodes, each another one first, and all at once. Nobody has a majority; soon somebody has, and then the
// others.
func TestSplitVote(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	var members []*member
	for i := range 3 {
		m := g.open("&guard=0&node-timeout=500ms")
		for node, way := range m.ways {
			if node != i {
				way.Delay(netfault.Requests, 20*time.Millisecond, 0, 1)
			}
		}
		members = append(members, m)
	}
	begun := time.Now()
	const rounds = 5
	for round := range rounds {
		var all sync.WaitGroup
		for _, m := range members {
			r := ask(fmt.Sprintf("lock %d", round), 30*time.Second) // nobody gets it because it ran out
			all.Go(func() {
				m.grant(r)
				if err := m.release(r); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	t.Logf("%d rounds, three holders each, in %v", rounds, time.Since(begun))
	if took := time.Since(begun); took > rounds*5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestSplitTry: a try that splits is repeated, without waiting: the one that is left gets it.
func TestSplitTry(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a, b := g.open("&guard=0&node-timeout=500ms"), g.open("&guard=0&node-timeout=500ms")
	for _, way := range []*netfault.Proxy{a.ways[1], a.ways[2], b.ways[0], b.ways[1]} {
		way.Delay(netfault.Requests, 10*time.Millisecond, 0, 1)
	}
	g.block("lock", 1) // so that two others split what is left
	results := make(chan error, 2)
	for _, m := range []*member{a, b} {
		go func() {
			_, err := m.try(ask("lock", 10*time.Second))
			results <- err
		}()
	}
	first, second := <-results, <-results
	if first != nil && second != nil {
		t.Logf("neither: %v; %v", first, second) // by chance, all four times
		return
	}
	if first == nil && second == nil {
		t.Fatal("both hold the lock")
	}
}

// TestToldOfRelease: who waits is told by the nodes when the lock is free: it would not ask by itself for an hour.
func TestToldOfRelease(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a := g.open("&guard=0&node-timeout=500ms")
	var waiting []*member
	for range 3 {
		m := g.open("&guard=0&node-timeout=500ms")
		m.Pause(time.Hour)
		waiting = append(waiting, m)
	}
	r := ask("lock", time.Hour)
	a.grant(r)
	order := make(chan int, len(waiting))
	var all sync.WaitGroup
	defer all.Wait()
	for i, m := range waiting {
		own := ask("lock", time.Hour)
		begun := make(chan struct{})
		own.Waiting = func(driver.Progress) {
			select {
			case <-begun:
			default:
				close(begun)
			}
		}
		all.Go(func() {
			m.grant(own)
			order <- i
			m.release(own)
		})
		<-begun
	}
	if err := a.release(r); err != nil {
		t.Fatal(err)
	}
	for i := range waiting { // nobody disturbs them, so the nodes agree on who came first
		select {
		case got := <-order:
			if got != i {
				t.Errorf("number %d was served as number %d", got, i)
			}
		case <-time.After(patience):
			t.Fatalf("number %d is not served", i)
		}
	}
}

// TestToldAndGone: who is told of a release, and does not want the lock any more, has the next one told.
func TestToldAndGone(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a, b, c := g.open("&guard=0&node-timeout=500ms"), g.open("&guard=0&node-timeout=500ms"), g.open("&guard=0&node-timeout=500ms")
	b.Pause(time.Hour)
	c.Pause(time.Hour)
	r := ask("lock", time.Hour)
	a.grant(r)
	stand := func(m *member) (*driver.Request, <-chan error, context.CancelFunc) {
		own := ask("lock", time.Hour)
		begun, once := make(chan struct{}), sync.Once{}
		own.Waiting = func(driver.Progress) { once.Do(func() { close(begun) }) }
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		result := make(chan error, 1)
		go func() {
			_, err := m.Acquire(ctx, own)
			result <- err
		}()
		<-begun
		return own, result, cancel
	}
	_, gaveUp, giveUp := stand(b)
	_, served, stop := stand(c)
	defer stop()
	giveUp()
	<-gaveUp // and nobody has told the nodes
	if err := a.release(r); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatalf("the second is not told: %v", err)
	}
}

// TestLine: many goroutines of one client wait for one lock, and are served in the order in which they came; the nodes see one of them at a time. Where
// nodes tell nobody the client itself does.
func TestLine(t *testing.T) {
	t.Parallel()
	t.Run("with functions", func(t *testing.T) { t.Parallel(); testLine(t, startGroup(t, 3)) })
	t.Run("without", func(t *testing.T) { t.Parallel(); testLine(t, startGroup(t, 3, servers.RedisRename("FCALL", ""))) })
}

func testLine(t *testing.T, g *group) {
	a := g.open("&guard=0&node-timeout=500ms")
	a.Pause(time.Hour)
	r := ask("lock", time.Hour)
	a.grant(r)
	const many = 50
	order := make(chan int, many)
	for i := range many {
		own := ask("lock", time.Hour)
		begun, once := make(chan struct{}), sync.Once{}
		own.Waiting = func(driver.Progress) { once.Do(func() { close(begun) }) }
		go func() {
			a.grant(own)
			order <- i
			if err := a.release(own); err != nil {
				t.Error(err)
			}
		}()
		<-begun
	}
	if err := a.release(r); err != nil {
		t.Fatal(err)
	}
	for i := range many {
		if got := <-order; got != i {
			t.Fatalf("number %d was served as number %d", got, i)
		}
	}
	forgotten(t, a)
	until(t, "nothing is left", func() bool { return len(g.has("lock")) == 0 })
}

// TestWaitersAreToldWhy: with a majority of the nodes stopped nobody knows whether the lock is held. Those who wait behind the first of their client are
// told what the nodes said to that one, and not that it is held.
func TestWaitersAreToldWhy(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a := g.open("&guard=0&node-timeout=100ms")
	warm := ask("lock", time.Minute)
	a.grant(warm)
	if err := a.release(warm); err != nil {
		t.Fatal(err)
	}
	for _, node := range g.nodes[1:] {
		if err := node.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			r := ask("lock", time.Minute)
			r.Waiting = func(p driver.Progress) {
				if p.Why == "" {
					t.Error("somebody was told that the lock is held, and nothing is known")
				}
			}
			var told bool
			for err := error(nil); ctx.Err() == nil; { // as the core does
				_, err = a.Acquire(ctx, r)
				told = told || errors.As(err, new(*redlock.NodesError))
			}
			if !told {
				t.Error("somebody was not told what the nodes said")
			}
		})
	}
	all.Wait()
}
