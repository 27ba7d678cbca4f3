//go:build linux

package endtoend_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An actor is a command to be run under a lock:
//
//	actor [flags] JOURNAL RUN
//
// writes into JOURNAL, under the name RUN, that it has begun, each signal that it gets, and as its flags say. It dies of HUP, INT,
// QUIT and TERM, after writing them down.
type actor struct {
	journal  *os.File
	run      string
	children int
	leave    bool
	daemons  bool
	stubborn bool
	survive  bool
	beat     bool
	read     bool
	later    bool
	deaf     bool
	until    string
	code     int
	count    int
}

func act(args []string) int {
	a := new(actor)
	flags := flag.NewFlagSet("actor", flag.ContinueOnError)
	flags.IntVar(&a.children, "children", 0, "so many of its kind are in its group")
	flags.BoolVar(&a.leave, "leave", false, "end when the children are started")
	flags.BoolVar(&a.daemons, "daemons", false, "the children have sessions of their own")
	flags.BoolVar(&a.stubborn, "stubborn", false, "ignore all signals")
	flags.BoolVar(&a.survive, "survive", false, "write signals down, and do not die of them")
	flags.BoolVar(&a.beat, "beat", false, "write each millisecond that it lives")
	flags.BoolVar(&a.read, "read", false, "read lines from standard input and write them down; quit ends it")
	flags.BoolVar(&a.later, "later", false, "begin to read when USR1 comes")
	flags.BoolVar(&a.deaf, "deaf", false, "leave all signals as they were at the start")
	flags.StringVar(&a.until, "until", "", "end when this file is there")
	flags.IntVar(&a.count, "count", 0, "write how many of this process group live")
	flags.IntVar(&a.code, "code", 0, "to end with")
	if flags.Parse(args) != nil || flags.NArg() != 2 {
		return 2
	}
	var err error
	a.journal, err = os.OpenFile(flags.Arg(0), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	a.run = flags.Arg(1)
	return a.live()
}

// record writes one line with one call, so that lines of several actors never mix.
func (a *actor) record(format string, args ...any) {
	fmt.Fprintf(a.journal, "%d %d %s %s\n", bootTime(), os.Getpid(), a.run, fmt.Sprintf(format, args...))
}

var heard = []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGCONT}

func (a *actor) live() int {
	signals := make(chan os.Signal, 1000)
	switch {
	case a.deaf:
	case a.stubborn:
		signal.Ignore(append(heard, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGALRM)...)
	default:
		signal.Notify(signals, heard...)
	}
	a.record("start")
	if a.count > 0 {
		a.record("counts %d", len(processes(func(p process) bool { return p.group() == a.count && p.alive() })))
	}
	for range a.children {
		if err := a.startChild(); err != nil {
			a.record("cannot start a child: %v", err)
			return 2
		}
	}
	if a.leave {
		return a.code
	}
	lines := make(chan string)
	if a.read && !a.later {
		go a.readLines(lines)
	}
	tick := time.NewTicker(time.Millisecond)
	for {
		select {
		case s := <-signals:
			a.hear(s.(unix.Signal)) // first: reading may stop this process at once
			if a.later && s == unix.SIGUSR1 {
				go a.readLines(lines)
			}
		case line := <-lines:
			if a.record("line %s", line); line == "quit" {
				return a.code
			}
		case <-tick.C:
			if a.beat {
				a.record("beat")
			}
			if _, err := os.Stat(a.until); a.until != "" && err == nil {
				a.record("end")
				return a.code
			}
		}
	}
}

// hear writes a signal down, and dies of it where others would. The shell takes its place for that: Go's runtime answers QUIT in
// a way of its own.
func (a *actor) hear(s unix.Signal) {
	a.record("got %s", unix.SignalName(s)[len("SIG"):])
	switch s {
	case unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGCONT:
		return
	}
	if !a.survive {
		err := unix.Exec("/bin/sh", []string{"sh", "-c", fmt.Sprintf("ulimit -c 0; kill -%d $$", s)}, os.Environ())
		a.record("cannot die: %v", err)
	}
}

func (a *actor) readLines(lines chan<- string) {
	for scanner := bufio.NewScanner(os.Stdin); ; {
		if !scanner.Scan() {
			a.record("end of input: %v", scanner.Err())
			return
		}
		lines <- scanner.Text()
	}
}

// startChild starts one more like itself. Nobody waits for it: if it dies first it stays a zombie until this one ends.
func (a *actor) startChild() error {
	args := []string{"actor", "-stubborn=" + strconv.FormatBool(a.stubborn), "-survive=" + strconv.FormatBool(a.survive),
		"-beat=" + strconv.FormatBool(a.beat), "-until=" + a.until, a.journal.Name(), a.run}
	child := &exec.Cmd{Path: "/proc/self/exe", Args: args, SysProcAttr: &syscall.SysProcAttr{Setsid: a.daemons}}
	return child.Start()
}
