package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// startLimit is how long a server may take to answer, whatever the context says.
const startLimit = 30 * time.Second

// shortly is how long one answer may take: one that accepts and then says nothing must not use up all of the time.
const shortly = 2 * time.Second

// A kind is what one kind of server brings; all the rest is the same for all.
type kind interface {
	// configure writes into the directory what the program reads at its start. It is called once for each port that is tried, not for
	// a restart.
	configure() error

	// command says how to run the program: its path, arguments, and what to add to the environment.
	command() (path string, args, env []string)

	// answers asks the server once whether it serves, and makes sure that the process with this id is the one that answered.
	answers(ctx context.Context, pid int) error
}

// A Server is a program that was started here, and may have ended since. See the package comment for what it promises.
type Server struct {
	name string // what errors call it
	kind kind
	dir  string
	port int

	starting sync.Mutex // one start, or the removal of the directory, at a time
	stopping sync.Mutex // Stop and Continue, one at a time; taken before mu

	mu     sync.Mutex
	run    *process // the latest one; nil before the first
	closed bool
	last   string // the end of the log, when closed
	clock  *clock // nil: the real time
}

// newServer makes the directory. Whoever calls it sets the kind.
func newServer(name string) (*Server, error) {
	dir, err := os.MkdirTemp("", "holdfast-"+name+"-")
	if err != nil {
		return nil, fmt.Errorf("a directory for %s: %w", name, err)
	}
	return &Server{name: name, dir: dir}, nil
}

// start starts a new server, on a port that is free. If it cannot, nothing is left.
func (s *Server) start(ctx context.Context) error {
	err := s.startAnywhere(ctx)
	if err != nil {
		err = errors.Join(err, s.Close())
	}
	return err
}

func (s *Server) startAnywhere(ctx context.Context) error {
	s.starting.Lock()
	defer s.starting.Unlock()
	var err error
	for range 10 {
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.kind.configure(); err != nil {
			return fmt.Errorf("the settings of %s: %w", s.name, err)
		}
		if err = s.begin(ctx); !errors.Is(err, errInUse) {
			return err
		}
	}
	return err
}

// Restart starts the server again, on the same port and with the same directory and settings, and waits until it answers. If it still
// runs it is killed before.
func (s *Server) Restart(ctx context.Context) error {
	return s.restart(ctx, func() error { return nil })
}

// restart changes something while the server is down.
func (s *Server) restart(ctx context.Context, change func() error) error {
	s.starting.Lock()
	defer s.starting.Unlock()
	s.Kill()
	if err := change(); err != nil {
		return fmt.Errorf("the settings of %s: %w", s.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	// Whoever has taken the port meanwhile may give it back: a child of the old server, for instance, which is not gone yet.
	var failed error
	err := await(ctx, nil, func(ctx context.Context) error {
		if failed = s.begin(ctx); errors.Is(failed, errInUse) || ctx.Err() != nil {
			return failed
		}
		return nil
	})
	if err != nil {
		return err
	}
	return failed
}

// errInUse means that somebody else has the port.
var errInUse = errors.New("its port is in use")

// begin runs the program and waits until it answers. What has not answered is killed.
func (s *Server) begin(ctx context.Context) error {
	p, err := s.launch()
	if err != nil {
		return fmt.Errorf("starting %s: %w", s.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err = s.awaitAnswer(ctx, p); err == nil {
		return nil
	}
	p.kill()
	log := tail(s.logFile(), p.began)
	if errors.Is(err, errQuit) {
		err = fmt.Errorf("it ended (%v) before it answered", p.cmd.ProcessState)
		if strings.Contains(strings.ToLower(log), "address already in use") {
			err = errInUse
		}
	}
	return fmt.Errorf("starting %s on %s: %w; the end of its log:\n%s", s.name, s.Addr(), err, log)
}

// launch runs the program once more.
func (s *Server) launch() (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("it was closed here: %w", os.ErrClosed)
	}
	log, size, err := s.openLog()
	if err != nil {
		return nil, err
	}
	defer log.Close() // the program has its own
	path, args, env := s.kind.command()
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	cmd.Env = append(os.Environ(), "LC_ALL=C") // what its log says is understood here
	cmd.Env = append(append(cmd.Env, s.clock.environment()...), env...)
	if s.run != nil {
		s.clock.cleanUp(s.run.pid())
	}
	p, err := launch(cmd, size)
	if err == nil {
		s.run = p
	}
	return p, err
}

func (s *Server) awaitAnswer(ctx context.Context, p *process) error {
	return await(ctx, p.ended, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, shortly) // it may be another's server
		defer cancel()
		return s.kind.answers(ctx, p.pid())
	})
}

// current is the latest run.
func (s *Server) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}
