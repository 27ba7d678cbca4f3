package servers

import (
	"os"
	"os/exec"
	"runtime"
)

// A process is one run of a server's program.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it is gone
	began int64         // how long the log was when it was started
}

// launch starts a program, on a thread that lives for as long as the program: see the package comment.
func launch(cmd *exec.Cmd, began int64) (*process, error) {
	isolate(cmd)
	p := &process{cmd: cmd, ended: make(chan struct{}), began: began}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		cmd.Wait()        // how it ended is in cmd.ProcessState
		kill(cmd.Process) // what it had forked does not outlive it; an error: there is nothing
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// signal does something to a process that has not ended. os.ErrProcessDone: it has.
func (p *process) signal(do func(*os.Process) error) error {
	if !p.running() {
		return os.ErrProcessDone
	}
	return do(p.cmd.Process)
}

// kill ends it, and waits until it is gone.
func (p *process) kill() {
	p.signal(kill) // an error: it has ended
	<-p.ended
}
