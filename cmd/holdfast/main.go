// Command holdfast runs commands one at a time, and shows who holds which lock: on as many machines as its store reaches. A
// directory reaches one, a Redis, or a majority of several, all that reach it.
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
