package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Addr is where the server listens: "127.0.0.1:port". It never changes.
func (s *Server) Addr() string { return address(s.port) }

// Port is the port of Addr.
func (s *Server) Port() int { return s.port }

// Dir is the directory of the server's data, settings and log.
func (s *Server) Dir() string { return s.dir }

// Pid is the id of the process that was started last. It may have ended.
func (s *Server) Pid() int { return s.current().pid() }

// Log is the end of what the server has logged, in all its runs; it can still be read after Close.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.last
	}
	return tail(s.logFile(), 0)
}

// Ready waits until the server answers: after Continue, for instance, or while it loads its data anew.
func (s *Server) Ready(ctx context.Context) error {
	if err := s.awaitAnswer(ctx, s.current()); err != nil {
		return fmt.Errorf("waiting for %s on %s: %w", s.name, s.Addr(), err)
	}
	return nil
}

// Wait waits until the server has ended, by itself or because it was told to.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-s.current().ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the end of %s on %s: %w", s.name, s.Addr(), ctx.Err())
	}
}

// Kill ends the server at once, as kill −9 does, also while it is stopped, and waits until it is gone. If it has ended already there
// is nothing to do.
func (s *Server) Kill() { s.current().kill() }

// Terminate asks the server to shut down (SIGTERM) and waits until it has ended. One that is stopped, or that hangs, does not hear it.
func (s *Server) Terminate(ctx context.Context) error {
	if err := s.signal("terminating", terminate); err != nil {
		return err
	}
	return s.Wait(ctx)
}

// Stop lets the server stand still (SIGSTOP): its connections stay open, and nobody answers. It returns when that is so. Where
// processes cannot be stopped the error is errors.ErrUnsupported.
func (s *Server) Stop() error {
	s.stopping.Lock()
	defer s.stopping.Unlock()
	p := s.current()
	if err := p.signal(stop); err != nil {
		return fmt.Errorf("stopping %s: %w", s.name, err)
	}
	err := await(context.Background(), p.ended, func(context.Context) error {
		still, err := standsStill(p.pid())
		if err == nil && !still {
			err = errors.New("it goes on")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("stopping %s: %w", s.name, err)
	}
	return nil
}

// Continue lets a stopped server go on (SIGCONT), as if no time had passed but for its clock. It does not wait for an answer: Ready
// does.
func (s *Server) Continue() error {
	s.stopping.Lock()
	defer s.stopping.Unlock()
	return s.signal("continuing", goOn)
}

func (s *Server) signal(doing string, do func(*os.Process) error) error {
	if err := s.current().signal(do); err != nil {
		return fmt.Errorf("%s %s: %w", doing, s.name, err)
	}
	return nil
}

// Close kills the server, if it still runs, and removes its directory. Whatever is called afterwards fails, but for Close, Kill and
// what only tells something.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed, s.last = true, tail(s.logFile(), 0) // no other run can begin
	}
	run := s.run
	s.mu.Unlock()
	if run != nil {
		run.kill()
	}
	s.starting.Lock() // a Restart that was under way has failed by now, or is about to
	defer s.starting.Unlock()
	return s.remove(run)
}

// remove removes all that the server has left.
func (s *Server) remove(run *process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run != nil {
		s.clock.cleanUp(run.pid())
	}
	// A process that the server had forked, and that was killed with it, may still finish a system call: creating a file, say.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return await(ctx, nil, func(context.Context) error { return os.RemoveAll(s.dir) })
}
