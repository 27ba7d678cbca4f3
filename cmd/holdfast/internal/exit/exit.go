// Package exit names the codes with which the program ends. They are part of its interface: scripts compare them.
package exit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"holdfast.dev"
)

// Codes beside the command's own. Signal n is 128+n, as in shells.
const (
	OK          = 0
	NotGot      = 1   // somebody else has the lock; -E says another one
	Usage       = 64  // the command line, or what it asks of this store, cannot be meant so
	Unavailable = 69  // the store cannot be reached, or refuses
	System      = 71  // the operating system refused a process or a pipe, or to take what is printed
	Lost        = 75  // the lock was lost while the command ran
	CannotRun   = 126 // the command was found but cannot be run
	NotFound    = 127 // the command was not found
)

// Signal is the code for the end by signal n.
func Signal(n int) int { return 128 + n }

// A UsageError says that the command line is wrong, and what would be right.
type UsageError struct{ Problem string }

func (e *UsageError) Error() string { return e.Problem }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// Code is the code for an error of the library's or of the command line's. The order matters: a wait that was cut off is held or
// unavailable first, and only then the end of a context.
func Code(err error) int {
	var usage *UsageError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &usage):
		return Usage
	case errors.Is(err, holdfast.ErrLost):
		return Lost
	case errors.Is(err, holdfast.ErrHeld), errors.Is(err, holdfast.ErrNotHeld), errors.Is(err, holdfast.ErrDeadlock):
		return NotGot
	case errors.Is(err, holdfast.ErrURL), errors.Is(err, holdfast.ErrName), errors.Is(err, holdfast.ErrTTL),
		errors.Is(err, holdfast.ErrArgument), errors.Is(err, holdfast.ErrUnsupported), isLimit(err):
		return Usage
	case errors.Is(err, holdfast.ErrGuarded), isStore(err):
		return Unavailable
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return NotGot
	case isFile(err):
		return System
	}
	return Unavailable
}

// isFile reports whether an error is one of a file of our own, such as standard output: those of a store's are the store's.
func isFile(err error) bool {
	var file *fs.PathError
	return errors.As(err, &file)
}

func isLimit(err error) bool {
	var limit *holdfast.LimitError
	return errors.As(err, &limit)
}

func isStore(err error) bool {
	var store *holdfast.StoreError
	return errors.As(err, &store)
}
