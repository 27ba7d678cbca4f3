//go:build linux

package filelock_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// Child processes are this test binary, started again. Parent and child talk in lines of JSON over the child's standard input and
// output; the child ends when the parent's end of the pipe is closed, so that it never outlives the parent.

const childVariable = "HOLDFAST_FILELOCK_CHILD"

// A task is what a child is started for.
type task struct {
	Do  string // obey, hammer, append, reopen, starve, linger
	Dir string // of the store
	UID int    // not 0: become that user first

	ID      int    // hammer, append: which of the processes it is
	Name    string // hammer, append: of the lock
	Counter string // hammer: a file with a number that nothing but the lock protects
	Log     string // hammer, append: a file that every hold is written to
	Records string // hammer: a file for what the process itself saw
	Hasty   bool   // append: its waits are cut off at random
	Kinds   bool   // append: readers and permits too
	Poll    bool   // append, obey: it polls
}

// address is the URL of the store.
func (todo *task) address() string {
	if todo.Poll {
		return storeURL(todo.Dir) + "?wait=poll"
	}
	return storeURL(todo.Dir)
}

// init, and not TestMain: a child needs nothing of package testing, and five hundred of them start soon.
func init() {
	value := os.Getenv(childVariable)
	if value == "" {
		return
	}
	os.Unsetenv(childVariable) // or a child of the child would do the same
	var todo task
	if err := json.Unmarshal([]byte(value), &todo); err != nil {
		fmt.Fprintf(os.Stderr, "%s=%q: %v\n", childVariable, value, err)
		os.Exit(2)
	}
	if err := todo.run(); err != nil {
		sayAloud(word{Said: "failed", Error: err.Error()})
		os.Exit(1)
	}
	os.Exit(0)
}

func (todo *task) run() error {
	if todo.UID != 0 {
		if err := becomeUser(todo.UID); err != nil {
			return err
		}
	}
	if todo.Do == "linger" {
		linger()
		return nil
	}
	orders := listen()
	switch todo.Do {
	case "hammer":
		return todo.hammer(orders)
	case "append":
		return todo.append(orders)
	case "reopen":
		return todo.reopen(orders)
	case "starve":
		return todo.starve(orders)
	}
	a, err := newActor(todo.address(), sayAloud)
	if err != nil {
		return err
	}
	sayAloud(word{Said: "ready"})
	for o := range orders {
		a.obey(o)
	}
	return nil
}

// becomeUser gives root's powers up, for all threads.
func becomeUser(uid int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("giving up groups: %w", err)
	}
	if err := syscall.Setgid(uid); err != nil {
		return fmt.Errorf("becoming group %d: %w", uid, err)
	}
	if err := syscall.Setuid(uid); err != nil {
		return fmt.Errorf("becoming user %d: %w", uid, err)
	}
	return nil
}

// listen returns the parent's orders. The process ends when there are no more: the parent has closed its end, or has died.
func listen() <-chan order {
	orders := make(chan order)
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			var o order
			if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
				sayAloud(word{Said: "failed", Error: "an order that nobody understands: " + lines.Text()})
				continue
			}
			orders <- o
		}
		os.Exit(0)
	}()
	return orders
}

var mouth sync.Mutex

// sayAloud tells the parent.
func sayAloud(w word) {
	line, err := json.Marshal(w)
	if err != nil {
		panic(err) // strings and numbers only
	}
	mouth.Lock()
	defer mouth.Unlock()
	os.Stdout.Write(append(line, '\n'))
}
