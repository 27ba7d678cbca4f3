package locktest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The parent's side of the cases with processes.

// A child is a process that runs this test binary and does a task.
type child struct {
	t      *trial
	cmd    *exec.Cmd
	input  io.WriteCloser
	words  chan word
	stderr bytes.Buffer
	ended  chan struct{} // closed when it has ended
}

// child starts a process, which also gets those files, from descriptor 3 on. It is killed at the end of the case, if it still runs.
func (t *trial) child(todo task, files ...*os.File) *child {
	t.Helper()
	todo.Test, todo.Address = t.test, t.address
	environment, err := todo.environment()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatalf("finding this test binary: %v", err)
	}
	c := &child{t: t, words: make(chan word, 1024), ended: make(chan struct{})}
	c.cmd = exec.Command(binary, childArguments(t.test)...)
	c.cmd.Env, c.cmd.ExtraFiles = environment, files
	c.cmd.Stderr = &c.stderr
	standApart(c.cmd)
	c.input, err = c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatalf("starting this test binary again: %v", err)
	}
	go c.listen(output)
	t.Cleanup(c.kill)
	return c
}

// childArguments selects exactly the running test, and passes the caller's own flags on.
func childArguments(test string) []string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	args := []string{"-test.run=" + strings.Join(parts, "/"), "-test.count=1", "-test.timeout=5m"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	for _, arg := range os.Args[1:] {
		if !strings.HasPrefix(strings.TrimLeft(arg, "-"), "test.") {
			args = append(args, arg)
		}
	}
	return args
}

func (c *child) listen(output io.Reader) {
	defer close(c.ended)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), wordMark)
		var w word
		if ok && json.Unmarshal([]byte(text), &w) == nil {
			c.words <- w
		}
	}
	c.cmd.Wait() // how it ended does not matter: its last word does
	close(c.words)
}

// hears waits for a word of the child, which must come. Others before it are ignored.
func (c *child) hears(said string) word {
	c.t.Helper()
	ctx, cancel := c.t.patience()
	defer cancel()
	for {
		select {
		case w, ok := <-c.words:
			switch {
			case !ok:
				c.t.Fatalf("the child ended before it said %q; on its standard error: %s", said, c.stderr.String())
			case w.Said == said:
				return w
			case w.Said == "failed":
				c.t.Fatalf("the child failed: %s", w.Error)
			}
		case <-ctx.Done():
			c.t.Fatalf("the child did not say %q", said)
		}
	}
}

// tell gives the child an order.
func (c *child) tell(order string) {
	c.t.Helper()
	if _, err := io.WriteString(c.input, order+"\n"); err != nil {
		c.t.Fatalf("telling the child %q: %v", order, err)
	}
}

// kill ends the child at once (kill −9), and waits until it is gone.
func (c *child) kill() {
	c.cmd.Process.Kill() // an error: it has ended already
	<-c.ended
}
