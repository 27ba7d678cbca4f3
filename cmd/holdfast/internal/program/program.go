// Package program is the command line of holdfast.
package program

import "holdfast.dev/cmd/holdfast/internal/guard"

// Main runs the program and returns the code to end with. args[0] is how it was called.
func Main(args []string) int {
	if guard.Invoked(args) {
		return guard.Main()
	}
	return 0
}
