// Package program is the command line of holdfast: its commands, their flags and texts, and where the store is.
//
// Cobra only reads the command line. A command that was understood leaves an action behind, which runs afterwards: so every error
// that comes out of cobra is a mistake in the command line, and ends with exit.Usage.
//
// Nothing that is printed shows a password. The store's URL stands in a flag or in the environment, and the rest of the command line
// may hold it by mistake (-store instead of --store): so what is repeated of a command line goes through echo, which drops it.
package program

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/guard"
	"holdfast.dev/cmd/holdfast/internal/say"
	"holdfast.dev/torture"
)

// Main runs the program and returns the code to end with. args[0] is how it was called.
func Main(args []string) int {
	if guard.Invoked(args) {
		return guard.Main()
	}
	if code, invoked := torture.Invoked(); invoked {
		return code
	}
	p := &program{args: args[min(1, len(args)):], out: os.Stdout, voice: say.New(os.Stderr)}
	if p.completing() {
		return p.complete()
	}
	return p.main()
}

// A program is one use of the command line.
type program struct {
	args   []string
	out    io.Writer
	voice  *say.Voice
	store  string // --store
	quiet  bool
	action func() error
}

// An ended is how an action says with which code the program ends, when it has printed already what there is to say.
type ended int

func (e ended) Error() string { return "ended" }

func (p *program) main() int {
	err := p.parse()
	p.voice.SetQuiet(p.quiet)
	if err == nil && p.action != nil {
		err = p.action()
	}
	var code ended
	switch {
	case err == nil:
		return exit.OK
	case errors.As(err, &code):
		return int(code)
	}
	p.voice.Printf("%v", err)
	return exit.Code(err)
}

// parse reads the command line. Every error is a mistake in it.
func (p *program) parse() error {
	root := p.root()
	if p.completing() {
		plainUsages(root)
	}
	root.SetArgs(p.args)
	root.SetOut(p.out)
	err := root.Execute()
	var usage *exit.UsageError
	if err != nil && !errors.As(err, &usage) {
		err = exit.Usagef("%s; holdfast help shows how it is used", echo(err.Error()))
	}
	return err
}

// then makes do what a command does, once all of the command line is understood.
func (p *program) then(do func(args []string) error) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		p.action = func() error { return do(args) }
		return nil
	}
}
