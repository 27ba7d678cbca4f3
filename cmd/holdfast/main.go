// Command holdfast runs commands one at a time, on one machine or on many, and shows who holds which lock.
//
//	holdfast run nightly-report -- ./report.sh
//	holdfast ls
//
// holdfast help tells the rest.
package main

import (
	"os"

	"holdfast.dev/cmd/holdfast/internal/program"
)

func main() { os.Exit(program.Main(os.Args)) }
