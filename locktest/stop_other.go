//go:build !unix

package locktest

import (
	"errors"
	"os/exec"
)

// canStop says that this system cannot stop a process: the cases that do so do not apply.
const canStop = false

func standApart(*exec.Cmd) {}

func (c *child) stop() error { return errors.ErrUnsupported }
func (c *child) goOn() error { return errors.ErrUnsupported }
