//go:build !linux && !darwin

package filelock

import "time"

// bootStamp is wall time: this system has no other clock in package syscall that processes agree on.
func bootStamp() stamp { return stamp(time.Now().UnixNano()) }

// systemBoot: this system does not say when it was started.
func systemBoot() string { return "" }
