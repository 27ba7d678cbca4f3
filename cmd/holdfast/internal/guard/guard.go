// Package guard ends a command's processes when the process that should do so no longer can.
package guard

// Invoked reports whether the arguments are those of a guard process.
func Invoked(args []string) bool { return len(args) > 0 && args[0] == name }

const name = "holdfast-guard"

// Main is the guard process. It returns the code to end with.
func Main() int { return 0 }
