//go:build linux

package filelock_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// What the processes do that hammer a lock.

// A turn is one hold as its process saw it, in order of time. The boot clock is the same for all processes.
type turn struct {
	Process int64
	Called  driver.Instant // just before Lock was called
	Queued  driver.Instant // when it certainly had its place: told that it waits, or granted
	Granted driver.Instant // Lock had returned
	Token   uint64
	Unlocks driver.Instant // just before Unlock was called
}

// hammer locks and unlocks for as long as it is told. Under the lock it raises a number in a file that nothing else protects, if it
// has got one.
func (todo *task) hammer(orders <-chan order) error {
	var queued atomic.Int64
	observer := holdfast.ObserverFunc(func(_ context.Context, e holdfast.Event) {
		if e.Kind == holdfast.EventWaiting {
			queued.CompareAndSwap(0, int64(now()))
		}
	})
	locks, err := holdfast.Open(context.Background(), storeURL(todo.Dir), holdfast.WithObserver(observer))
	if err != nil {
		return err
	}
	log, err := os.OpenFile(todo.Log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	sayAloud(word{Said: "ready"})
	end := (<-orders).Until
	var turns []turn
	for now().Before(end) {
		queued.Store(0)
		this := turn{Process: int64(todo.ID), Called: now()}
		hold, err := locks.Mutex(todo.Name).Lock(context.Background())
		if err != nil {
			return err
		}
		this.Granted, this.Token = now(), hold.Token()
		if this.Queued = driver.Instant(queued.Load()); this.Queued == 0 {
			this.Queued = this.Granted
		}
		if todo.Counter != "" {
			err = todo.work(log, this)
		}
		if err != nil {
			return err
		}
		this.Unlocks = now()
		if err := hold.Unlock(); err != nil {
			return err
		}
		turns = append(turns, this)
	}
	if err := locks.Close(); err != nil {
		return fmt.Errorf("closing: %w", err)
	}
	if err := writeTurns(todo.Records, turns); err != nil {
		return err
	}
	sayAloud(word{Said: "done", Count: len(turns)})
	<-orders // for ever: ends with the parent
	return nil
}

// work is what must not be done by two at once.
func (todo *task) work(log *os.File, this turn) error {
	text, err := os.ReadFile(todo.Counter)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return fmt.Errorf("the file was read while another process wrote it: %w", err)
	}
	runtime.Gosched() // another may come between
	if err := os.WriteFile(todo.Counter, []byte(strconv.Itoa(n+1)), 0o600); err != nil {
		return err
	}
	return binary.Write(log, binary.LittleEndian, this.Token)
}

func writeTurns(file string, turns []turn) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return binary.Write(f, binary.LittleEndian, turns)
}

func readTurns(file string) ([]turn, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	turns := make([]turn, len(raw)/binary.Size(turn{}))
	_, err = binary.Decode(raw, binary.LittleEndian, turns)
	return turns, err
}

// A mark is what a process writes to the log, in one piece, when it has got a lock and before it unlocks it.
type mark struct {
	Process int64
	Seq     int64 // how many holds of this process came before
	Token   uint64
	N       int64 // permits
	Mode    driver.Mode
	Leaves  uint8 // 0: has come, 1: goes
}

// append locks and unlocks until it is told to end. Every hold leaves two marks in the log, however its process ends.
func (todo *task) append(orders <-chan order) error {
	locks, err := holdfast.Open(context.Background(), todo.address())
	if err != nil {
		return err
	}
	log, err := os.OpenFile(todo.Log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(uint64(todo.ID), 0))
	sayAloud(word{Said: "ready"})
	for seq := int64(0); ; {
		select {
		case <-orders:
			if err := locks.Close(); err != nil {
				return fmt.Errorf("closing: %w", err)
			}
			sayAloud(word{Said: "done", Count: int(seq)})
			<-orders // for ever: ends with the parent
			return nil
		default:
		}
		m := mark{Process: int64(todo.ID), Seq: seq}
		hold, err := todo.take(locks, random, &m)
		if todo.Hasty && errors.Is(err, context.DeadlineExceeded) {
			continue
		}
		if err != nil {
			return err
		}
		seq++
		if err := m.leave(log, hold); err != nil {
			return err
		}
	}
}

// take gets a lock, of a random kind if there are kinds, and within a random time if it is hasty.
func (todo *task) take(locks *holdfast.Client, random *rand.Rand, m *mark) (*holdfast.Hold, error) {
	ctx, cancel := context.Background(), func() {}
	if todo.Hasty {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(random.Int64N(int64(20*time.Millisecond))))
	}
	defer cancel()
	what := 0
	if todo.Kinds {
		what = random.IntN(4)
	}
	switch what {
	case 0:
		m.Mode = driver.Exclusive
		return locks.RWMutex(todo.Name).Lock(ctx)
	case 1:
		m.Mode, m.N = driver.Permits, 1+random.Int64N(stormLimit)
		return locks.Semaphore(todo.Name, stormLimit).Acquire(ctx, int(m.N))
	}
	m.Mode = driver.Shared
	return locks.RWMutex(todo.Name).Reader().Lock(ctx)
}

// leave writes both marks of a hold, and unlocks.
func (m *mark) leave(log *os.File, hold *holdfast.Hold) error {
	m.Token = hold.Token()
	if err := binary.Write(log, binary.LittleEndian, m); err != nil {
		return err
	}
	runtime.Gosched()
	m.Leaves = 1
	if err := binary.Write(log, binary.LittleEndian, m); err != nil {
		return err
	}
	return hold.Unlock()
}

// reopen opens, locks, unlocks and closes until it is killed.
func (todo *task) reopen(orders <-chan order) error {
	sayAloud(word{Said: "ready"})
	for {
		select {
		case <-orders:
			return nil
		default:
		}
		locks, err := holdfast.Open(context.Background(), storeURL(todo.Dir))
		if err != nil {
			return err
		}
		if err := locks.Do(context.Background(), todo.Name, func(context.Context) error { return nil }); err != nil {
			return err
		}
		if err := locks.Close(); err != nil {
			return err
		}
	}
}

func readMarks(file string) ([]mark, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	marks := make([]mark, len(raw)/binary.Size(mark{}))
	_, err = binary.Decode(raw, binary.LittleEndian, marks)
	return marks, err
}
