//go:build linux

package endtoend_test

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"holdfast.dev/cmd/holdfast/internal/guard"
	"holdfast.dev/cmd/holdfast/internal/program"
	"holdfast.dev/driver"
	"holdfast.dev/locktest/remote"
)

// patience is how long a test waits for what must happen: far longer than it takes on a machine that has much else to do.
const patience = 30 * time.Second

// rounds is how often the tests repeat what goes wrong at unlucky moments only.
var rounds = flag.Int("rounds", 50, "how often to kill at random moments")

// seed makes the random moments the same again.
var seed = flag.Uint64("seed", 0, "of the random moments; 0: a new one, printed")

func TestMain(m *testing.M) {
	switch name := filepath.Base(os.Args[0]); {
	case guard.Invoked(os.Args):
		os.Exit(program.Main(os.Args))
	case name == "holdfast":
		register()
		os.Exit(program.Main(os.Args))
	case name == "actor":
		os.Exit(act(os.Args[1:]))
	case name == "sweeper":
		sweep(os.Args[1])
		os.Exit(0)
	}
	register()
	heed()
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil { // they mostly wait
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if testing.Short() {
		*rounds = min(*rounds, 10)
	}
	dismiss := startSweeper()
	code := m.Run()
	dismiss()
	if left := awaitNobody(ourBinary); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "processes are left when all tests have ended:\n%s", listing(left))
		killAll(ourBinary)
		code = 1
	}
	os.Exit(code)
}

// register gives programs the store with TTLs, and the test too, which looks into it.
func register() { driver.Register(remote.Scheme, remote.Open) }

// heed makes the tests mean the same in the background and under nohup: a signal that is ignored here would be ignored by all that is
// started here, but one that is caught is not.
func heed() {
	for _, s := range []os.Signal{unix.SIGHUP, unix.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// ourBinary tells the processes that run the test binary, but for this one: guards have no environment to be found by.
func ourBinary(p process) bool { return p.pid != os.Getpid() && p.exe() == ourExe }

var ourExe = func() string {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	return exe
}()
