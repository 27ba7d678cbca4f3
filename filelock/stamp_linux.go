package filelock

import (
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const clockBoottime = 7 // CLOCK_BOOTTIME; package syscall does not name it

// bootStamp reads CLOCK_BOOTTIME, which is the same for all processes of a machine; nobody can set it, and it goes on in a suspend.
func bootStamp() stamp {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 { // a sandbox without it
		return stamp(time.Now().UnixNano())
	}
	return stamp(ts.Nano())
}

// systemBoot names the time since the machine was started: different after every restart. "": not known.
func systemBoot() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
