//go:build !linux && !darwin

package filelock

// machineClock is the wall clock: this system has no other one in package syscall that processes agree on.
func machineClock(string) clock { return wallClock() }

// systemBoot: this system does not say when it was started.
func systemBoot() string { return "" }
