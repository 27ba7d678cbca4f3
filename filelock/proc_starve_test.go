//go:build linux

package filelock_test

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"holdfast.dev"
)

// starve tries everything without a descriptor that is free, and then with some.
func (todo *task) starve(orders <-chan order) error {
	locks, err := holdfast.Open(context.Background(), storeURL(todo.Dir))
	if err != nil {
		return err
	}
	hold, err := locks.Mutex("held").TryLock(context.Background())
	if err != nil {
		return err
	}
	limit := syscall.Rlimit{Cur: 256, Max: 256}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	var all []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		all = append(all, f)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err = locks.Mutex("new").TryLock(context.Background())
	sayAloud(word{Said: "told", ID: "try", Error: text(err)})
	_, err = locks.Mutex("new").Lock(ctx)
	sayAloud(word{Said: "told", ID: "lock", Error: text(err)})
	_, err = holdfast.Open(context.Background(), storeURL(todo.Dir))
	sayAloud(word{Said: "told", ID: "open", Error: text(err)})
	_, err = locks.Files()
	sayAloud(word{Said: "told", ID: "files", Error: text(err)})
	sayAloud(word{Said: "told", ID: "unlock", Error: text(hold.Unlock())}) // after 5 s it goes on in the background
	for _, f := range all {
		f.Close()
	}
	late, done := context.WithTimeout(context.Background(), patience)
	defer done()
	for _, name := range []string{"new", "held"} {
		hold, err := locks.Mutex(name).Lock(late)
		if err != nil {
			return fmt.Errorf("with descriptors again: %w", err)
		}
		if err := hold.Unlock(); err != nil {
			return fmt.Errorf("with descriptors again: %w", err)
		}
	}
	if err := locks.Close(); err != nil {
		return err
	}
	sayAloud(word{Said: "done"})
	<-orders // for ever: ends with the parent
	return nil
}
