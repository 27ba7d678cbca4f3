package filelock

import (
	"syscall"
	"time"
)

// bootStamp is wall time: this system has no other clock in package syscall that processes agree on.
func bootStamp() stamp { return stamp(time.Now().UnixNano()) }

// systemBoot names the time since the machine was started: different after every restart. "": not known.
func systemBoot() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
