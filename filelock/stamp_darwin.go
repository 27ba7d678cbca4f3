package filelock

import "syscall"

// machineClock is the wall clock: this system has no other one in package syscall that processes agree on.
func machineClock(string) clock { return wallClock() }

// systemBoot names the time since the machine was started: different after every restart. "": not known.
func systemBoot() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
