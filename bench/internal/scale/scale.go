// Package scale finds out what many locks of Holdfast cost a server at rest: the processor time of renewals, and memory for each lock
// and for each waiter.
package scale

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev"
	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/measure"
	"holdfast.dev/bench/internal/result"
)

// Options say how much.
type Options struct {
	Locks, Waiters int
	Watch          time.Duration // how long renewals are watched
	Say            func(string)  // progress
}

// hands is how many goroutines take and release the locks.
const hands = 64

// Measure does it, on a server that nothing else uses meanwhile.
func Measure(ctx context.Context, server *measure.Probe, addr string, o Options) (*result.Scale, error) {
	s := &result.Scale{Locks: o.Locks, Waiters: o.Waiters, TTLSeconds: contender.TTL.Seconds()}
	client, err := holdfast.Open(ctx, contender.URL(addr))
	if err != nil {
		return nil, fmt.Errorf("scale: %w", err)
	}
	defer client.Close()
	if err := held(ctx, client, server, o, s); err != nil {
		return nil, fmt.Errorf("scale, %d locks: %w", o.Locks, err)
	}
	if err := awaited(ctx, client, server, o, s); err != nil {
		return nil, fmt.Errorf("scale, %d waiters: %w", o.Waiters, err)
	}
	return s, nil
}

// held takes the locks, watches them being renewed, and gives them back.
func held(ctx context.Context, client *holdfast.Client, server *measure.Probe, o Options, s *result.Scale) error {
	idle, err := watch(ctx, server, time.Second)
	if err != nil {
		return err
	}
	s.ServerCPUIdle = idle.cpu()
	o.Say(fmt.Sprintf("scale: taking %d locks", o.Locks))
	heap, began := heapBytes(), time.Now()
	holds := make([]*holdfast.Hold, o.Locks)
	err = each(o.Locks, func(i int) (err error) {
		holds[i], err = client.Mutex("scale:"+strconv.Itoa(i), holdfast.TTL(contender.TTL)).Lock(ctx)
		return err
	})
	if err != nil {
		return err
	}
	s.LocksASecond = float64(o.Locks) / time.Since(began).Seconds()
	s.ClientBytes = (heapBytes() - heap) / float64(o.Locks)
	taken, err := server.Info(ctx)
	if err != nil {
		return err
	}
	s.BytesForLock = float64(taken.Memory-idle.after.Memory) / float64(o.Locks)

	o.Say(fmt.Sprintf("scale: watching their renewals for %v", o.Watch))
	busy, err := watch(ctx, server, o.Watch)
	if err != nil {
		return err
	}
	s.WatchedSeconds, s.ServerCPU = busy.seconds, busy.cpu()
	if busy.calls == 0 && o.Watch >= 5*time.Second {
		return fmt.Errorf("no renewal was seen in %v: is it still one SET?", o.Watch)
	}
	s.RenewalsASecond = float64(busy.calls) / busy.seconds
	if busy.calls > 0 {
		s.MicrosForRenewal = (busy.cpu() - idle.cpu()) * busy.seconds / float64(busy.calls) * 1e6
	}
	for _, h := range holds {
		if h.Err() != nil {
			s.Lost++
		}
	}
	var late atomic.Int64
	each(o.Locks, func(i int) error {
		if err := holds[i].Unlock(); err != nil && !errors.Is(err, holdfast.ErrLost) { // those are counted already
			late.Add(1)
		}
		return nil
	})
	s.Late = int(late.Load())
	return nil
}

// awaited lets many wait for one lock.
func awaited(ctx context.Context, client *holdfast.Client, server *measure.Probe, o Options, s *result.Scale) error {
	const name = "scale:awaited"
	hold, err := client.Mutex(name).Lock(ctx)
	if err != nil {
		return err
	}
	defer hold.Unlock()
	before, err := server.Info(ctx)
	if err != nil {
		return err
	}
	o.Say(fmt.Sprintf("scale: letting %d wait for one lock", o.Waiters))
	waiting, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer end()
	for range o.Waiters {
		all.Go(func() {
			if got, err := client.Mutex(name).Lock(waiting); err == nil {
				got.Unlock() // only if the first hold is lost
			}
		})
	}
	if err := queued(ctx, client, name, o.Waiters); err != nil {
		return err
	}
	after, err := server.Info(ctx)
	if err != nil {
		return err
	}
	s.BytesForWaiter = float64(after.Memory-before.Memory) / float64(o.Waiters)
	return hold.Err()
}

// queued returns when so many wait.
func queued(ctx context.Context, client *holdfast.Client, name string, waiters int) error {
	for {
		info, err := client.Inspect(ctx, name)
		if err != nil {
			return err
		}
		if len(info.Waiters) >= waiters {
			return nil
		}
		if err := pass(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// A look is what happened between two answers of the server.
type look struct {
	after   measure.Info
	seconds float64
	used    float64 // processor time
	calls   int64   // renewals: the renewal of a lock that is held alone is one SET
}

func (l look) cpu() float64 { return l.used / l.seconds }

func watch(ctx context.Context, server *measure.Probe, d time.Duration) (look, error) {
	before, err := server.Info(ctx)
	if err != nil {
		return look{}, err
	}
	began := time.Now()
	if err := pass(ctx, d); err != nil {
		return look{}, err
	}
	after, err := server.Info(ctx)
	if err != nil {
		return look{}, err
	}
	_, calls := after.Since(before)
	return look{after, time.Since(began).Seconds(), after.CPU - before.CPU, calls["set"]}, nil
}

// each calls f for 0 to n−1 from several goroutines, and returns an error of the first that failed.
func each(n int, f func(int) error) error {
	var all sync.WaitGroup
	errs := make([]error, hands)
	for hand := range hands {
		all.Go(func() {
			for i := hand; i < n && errs[hand] == nil; i += hands {
				errs[hand] = f(i)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// heapBytes is what lives on the heap.
func heapBytes() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
