// Package peers has the lock libraries that share their locks with ours, each behind the lines of [line]: the ones in Go as [line.Locks],
// the others as programs in the folders beside this file.
//
//	redsync    Go      several nodes
//	bsm        Go      one node
//	redlock4   Node.js several nodes; node-redlock 4 with ioredis
//	redlock5   Node.js several nodes; node-redlock 5 with ioredis
//	redis-py   Python  one node
//
// All of them keep a lock as a string under the lock's own name, SET NX PX, and compare its value before they extend or delete it.
//
// Every peer runs in a process of its own, so that it can be killed. For libraries in Go that is the program that asks, once more: its
// main function, or TestMain, calls [Serve] first.
//
// The settings are the libraries' defaults but for the pauses between two tries: 10 to 30 ms, so that tests do not wait for long.
package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"holdfast.dev/interop/internal/line"
)

// A Peer is a lock library.
type Peer struct {
	Name    string
	Single  bool // it knows one node only
	Endless bool // its locks can live for ever: a TTL of 0

	open    func(ctx context.Context, nodes []string) (line.Locks, error) // of a library in Go
	command func() (*exec.Cmd, error)                                     // of the others: without the nodes
}

// InGo returns the peers in Go, which need nothing but this module.
func InGo() []Peer {
	return []Peer{
		{Name: "redsync", open: openRedsync},
		{Name: "bsm", Single: true, open: openBSM},
	}
}

// Elsewhere returns the peers in other languages. packages is the directory where npm has installed what peers/node/package.json names.
// What a peer needs and is not installed is said by Start.
func Elsewhere(packages string) []Peer {
	return []Peer{
		{Name: "redlock4", command: func() (*exec.Cmd, error) { return node(packages, "redlock4") }},
		{Name: "redlock5", command: func() (*exec.Cmd, error) { return node(packages, "redlock5") }},
		{Name: "redis-py", Single: true, Endless: true, command: python},
	}
}

// ErrMissing means that what a peer needs is not installed. The error that wraps it says how to get it.
var ErrMissing = errors.New("not installed")

// Start runs a peer on these nodes. The working directory must be that of module interop, where go test runs its tests.
func (p Peer) Start(ctx context.Context, nodes ...string) (*line.Program, error) {
	command := p.command
	if p.open != nil {
		command = p.again
	}
	cmd, err := command()
	if err != nil {
		return nil, err
	}
	cmd.Args = append(cmd.Args, nodes...)
	return line.Start(ctx, cmd)
}

// which tells the program, started once more, which peer it is.
const which = "HOLDFAST_INTEROP_PEER"

// again runs this very program.
func (p Peer) again() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), which+"="+p.Name)
	return cmd, nil
}

// Serve is the whole life of a peer in Go, if this process is one; otherwise it returns at once.
func Serve() {
	for _, p := range append(InGo(), Holdfast) {
		if p.Name == os.Getenv(which) {
			if err := p.serve(os.Args[1:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
}

func (p Peer) serve(nodes []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	locks, err := p.open(ctx, nodes)
	if err != nil {
		return err
	}
	return line.Serve(os.Stdin, os.Stdout, p.Name+" of go.mod", locks)
}
