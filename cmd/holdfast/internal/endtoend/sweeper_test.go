//go:build linux

package endtoend_test

import (
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// runMark begins the marks of all worlds of this test process.
var runMark = "HOLDFAST_TEST_WORLD=" + rand.Text() + "-"

// startSweeper starts a process that ends what this one leaves if it dies before its tests have cleaned up: of a time-out, or of ^C.
// Stubborn actors and stopped programs would stay for ever. dismiss ends it.
func startSweeper() (dismiss func()) {
	sweeper := &exec.Cmd{Path: ourExe, Args: []string{"sweeper", runMark}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	line, err := sweeper.StdinPipe()
	if err == nil {
		err = sweeper.Start()
	}
	if err != nil {
		panic(err)
	}
	return func() {
		line.Close()
		sweeper.Wait()
	}
}

// sweep waits for the end of the process that it was started by, and kills what has that mark.
func sweep(mark string) {
	io.Copy(io.Discard, os.Stdin)
	killAll(func(p process) bool {
		environment := p.read("environ")
		return strings.HasPrefix(environment, mark) || strings.Contains(environment, "\x00"+mark)
	})
}
