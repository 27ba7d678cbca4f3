//go:build !unix

package servers

import (
	"errors"
	"os"
	"os/exec"
)

func isolate(*exec.Cmd) {}

func kill(p *os.Process) error    { return p.Kill() }
func terminate(*os.Process) error { return errors.ErrUnsupported }
func stop(*os.Process) error      { return errors.ErrUnsupported }
func goOn(*os.Process) error      { return errors.ErrUnsupported }

func standsStill(int) (bool, error) { return true, nil }
