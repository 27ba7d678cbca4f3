package locktest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"holdfast.dev"
)

// The child's side of the cases with processes. Parent and child talk in lines of JSON over the child's standard input and output.

// childVariable is the environment variable that makes Run act as a child.
const childVariable = "HOLDFAST_LOCKTEST_CHILD"

// A task is what a child is started for.
type task struct {
	Test    string // the test that called Run
	Address string
	Do      string // hold, count; guard: nothing, until the input ends
	Name    string // of the lock
	TTL     time.Duration
	File    string // count: the file whose number is raised under the lock
	Times   int    // count: how often

	Mode     holdfast.Mode // hold: how; 0: as a Mutex
	N, Limit int           // hold: of permits
	MinHold  time.Duration // hold
	Ordered  bool          // hold: say ready, and lock when told so
}

// environment is that of a process which does the task.
func (todo *task) environment() ([]string, error) {
	variable, err := json.Marshal(todo)
	return append(os.Environ(), childVariable+"="+string(variable)), err
}

// A word is what a child says: ready, waiting, granted, guarded, state, unlocked, counted, failed.
type word struct {
	Said   string
	Token  uint64        `json:",omitempty"`
	Left   time.Duration `json:",omitempty"` // state: Hold.Left
	Reason string        `json:",omitempty"` // state: why the hold was lost
	Error  string        `json:",omitempty"`
}

// wordMark begins every line that is a word: others may print, too.
const wordMark = "locktest: "

// actAsChild does what the parent asks, and exits, if this process is a child of the test of that name.
func actAsChild(test string, h Harness) {
	text := os.Getenv(childVariable)
	if text == "" {
		return
	}
	var todo task
	if err := json.Unmarshal([]byte(text), &todo); err != nil || todo.Test != test {
		fmt.Fprintf(os.Stderr, "locktest: the child runs test %q, with %s=%q: %v\n", test, childVariable, text, err)
		os.Exit(2)
	}
	ended := make(chan struct{}) // also when the parent has died: then nobody is left who could end the child
	orders := make(chan string)
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			orders <- lines.Text()
		}
	}()
	go func() {
		<-ended
		os.Exit(0)
	}()
	if err := todo.run(h, orders); err != nil {
		say(word{Said: "failed", Error: err.Error()})
		os.Exit(1)
	}
	os.Exit(0)
}

func say(w word) {
	line, err := json.Marshal(w)
	if err != nil {
		panic(err) // strings and numbers only
	}
	fmt.Println(wordMark + string(line))
}

func (todo *task) run(h Harness, orders <-chan string) error {
	if todo.Do == "guard" {
		select {} // actAsChild exits
	}
	ctx := context.Background()
	store, err := h.Open(ctx, todo.Address)
	if err != nil {
		return fmt.Errorf("opening the store: %w", err)
	}
	locks := holdfast.New(store, holdfast.TTL(todo.TTL), holdfast.WithObserver(waitingAloud{}))
	if todo.Do == "count" {
		return todo.count(ctx, locks)
	}
	if todo.Ordered {
		say(word{Said: "ready"})
		<-orders
	}
	hold, err := todo.locker(locks).Lock(ctx)
	if err != nil {
		return fmt.Errorf("locking: %w", err)
	}
	say(word{Said: "granted", Token: hold.Token()})
	for order := range orders {
		switch order {
		case "state":
			w := word{Said: "state", Token: hold.Token(), Left: hold.Left()}
			var lost *holdfast.LostError
			if errors.As(hold.Err(), &lost) {
				w.Reason = string(lost.Reason)
			}
			say(w)
		case "guard":
			if err := todo.startGuard(locks); err != nil {
				return fmt.Errorf("starting a guard: %w", err)
			}
			say(word{Said: "guarded"})
		case "unlock":
			w := word{Said: "unlocked"}
			if err := hold.Unlock(); err != nil {
				w.Error = err.Error()
			}
			say(w)
		}
	}
	select {} // the parent's end of the pipe is closed: actAsChild exits
}

// locker returns what is to be held.
func (todo *task) locker(locks *holdfast.Client) holdfast.Locker {
	var opts []holdfast.Option
	if todo.MinHold > 0 {
		opts = append(opts, holdfast.MinHold(todo.MinHold))
	}
	switch todo.Mode {
	case holdfast.Shared:
		return locks.RWMutex(todo.Name, opts...).Reader()
	case holdfast.Permits:
		return locks.Semaphore(todo.Name, todo.Limit, opts...).Permits(todo.N)
	}
	return locks.Mutex(todo.Name, opts...)
}

// count raises the number in a file, which nothing but the lock protects.
func (todo *task) count(ctx context.Context, locks *holdfast.Client) error {
	say(word{Said: "ready"})
	for range todo.Times {
		if err := locks.Do(ctx, todo.Name, func(context.Context) error { return raise(todo.File) }); err != nil {
			return err
		}
	}
	if err := locks.Close(); err != nil {
		return fmt.Errorf("closing: %w", err)
	}
	say(word{Said: "counted"})
	return nil
}

// raise adds one to the number in a file, in two steps that another process can come between.
func raise(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return fmt.Errorf("the file was read while another process wrote it: %w", err)
	}
	time.Sleep(time.Millisecond) // time for another to come between
	return os.WriteFile(file, []byte(strconv.Itoa(n+1)), 0o600)
}

// waitingAloud says when the child has to wait for a lock.
type waitingAloud struct{}

func (waitingAloud) Observe(_ context.Context, e holdfast.Event) {
	if e.Kind == holdfast.EventWaiting {
		say(word{Said: "waiting"})
	}
}
