package program

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and the stores it knows",
		Long:    "Version prints the version of the program, and the schemes of the stores that it\ncan use.",
		Example: "  holdfast version",
		Args:    noArgs,
		RunE:    p.then(func([]string) error { return p.printVersion() }),
	}
}

func (p *program) printVersion() error {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	_, err := fmt.Fprintf(p.out, "holdfast %s, %s %s/%s, stores: %s\n",
		version, runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(schemes(), " "))
	return err
}
