package redislock_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// Some tests need clients in processes that can be killed and stopped: this test binary again, which talks in lines of JSON.

const childVariable = "HOLDFAST_REDISLOCK_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		var todo task
		if err := json.Unmarshal([]byte(text), &todo); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", childVariable, err)
			os.Exit(2)
		}
		todo.do()
		return
	}
	flag.Parse()
	if given := flag.Lookup("test.parallel"); given.Value.String() == given.DefValue {
		flag.Set("test.parallel", "8") // most of these tests wait for time to pass
	}
	os.Exit(m.Run())
}

// A task is what a child is started for.
type task struct {
	URL, Name string
	TTL       time.Duration
	Waiters   int // > 0: so many calls of Acquire that all wait, and release what they get; 0: one Lock, unlocked when told so
}

// A word is what a child says: waiting, once all wait; granted; unlocked.
type word struct {
	Said  string
	Token uint64         `json:",omitempty"`
	At    driver.Instant `json:",omitempty"` // by the clock that all processes of a machine share; zero where they do not
	Error string         `json:",omitempty"`
}

func say(w word) {
	w.At = driver.Boot().Now()
	line, _ := json.Marshal(w) // strings and numbers
	fmt.Println(string(line))
}

// do is the child's side. It ends with its input, so that it does not outlive its parent.
func (todo task) do() {
	orders := make(chan string)
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			orders <- lines.Text()
		}
		os.Exit(0)
	}()
	s, err := openURL(context.Background(), todo.URL)
	switch {
	case err != nil:
	case todo.Waiters > 0:
		err = todo.crowd(s)
	default:
		err = todo.lock(s, orders)
	}
	if err != nil {
		say(word{Said: "failed", Error: err.Error()})
	}
	select {}
}

func (todo task) crowd(s driver.Store) error {
	var queued sync.WaitGroup
	queued.Add(todo.Waiters)
	for range todo.Waiters {
		go func() {
			r := ask(todo.Name, "crowd", todo.TTL)
			r.Waiting = func() func(driver.Progress) {
				once := sync.OnceFunc(queued.Done)
				return func(driver.Progress) { once() }
			}()
			if grant, err := s.Acquire(context.Background(), r); err == nil {
				say(word{Said: "granted", Token: grant.Token})
				s.Release(context.Background(), r) // its parent sees whether the lock is free
			}
		}()
	}
	queued.Wait()
	say(word{Said: "waiting"})
	return nil
}

func (todo task) lock(s driver.Store, orders <-chan string) error {
	say(word{Said: "ready"})
	<-orders
	locks := holdfast.New(s, holdfast.TTL(todo.TTL))
	for {
		hold, err := locks.Mutex(todo.Name, holdfast.Label("child")).Lock(context.Background())
		if err != nil {
			return err
		}
		say(word{Said: "granted", Token: hold.Token()})
		<-orders
		w := word{Said: "unlocked", Token: hold.Token()}
		if err := hold.Unlock(); err != nil {
			w.Error = err.Error()
		}
		say(w)
		<-orders
	}
}

// A child is a process with a task.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	input io.Writer
	words chan word
}

// start starts a process, which is killed with the test.
func (todo task) start(t testing.TB) *child {
	t.Helper()
	text, err := json.Marshal(todo)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: exec.Command(binary), words: make(chan word, 1024)}
	c.cmd.Env, c.cmd.Stderr = append(os.Environ(), childVariable+"="+string(text)), os.Stderr
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.words)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			var w word
			if strings.HasPrefix(lines.Text(), "{") && json.Unmarshal(lines.Bytes(), &w) == nil {
				c.words <- w
			}
		}
		c.cmd.Wait() // how it ended does not matter
	}()
	t.Cleanup(c.kill)
	return c
}

// kill is kill −9; it returns when the process is gone.
func (c *child) kill() {
	c.cmd.Process.Kill() // an error: it has ended already
	for range c.words {
	}
}

func (c *child) tell(order string) {
	c.t.Helper()
	if _, err := io.WriteString(c.input, order+"\n"); err != nil {
		c.t.Fatalf("telling the child %q: %v", order, err)
	}
}

// says waits for the next word, which must be this one.
func (c *child) says(said string) word {
	c.t.Helper()
	select {
	case w := <-c.words:
		if w.Said != said || w.Error != "" {
			c.t.Fatalf("the child says %+v, not %q", w, said)
		}
		return w
	case <-time.After(patience):
		c.t.Fatalf("the child does not say %q", said)
	}
	panic("not reached")
}
