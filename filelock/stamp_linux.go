package filelock

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const clockBoottime = 7 // CLOCK_BOOTTIME; package syscall does not name it

// machineClock is CLOCK_BOOTTIME, which nobody can set, and which goes on in a suspend. It is the same for all processes of a machine,
// but for those in a time namespace, which have it moved: that is taken out. Where nobody can tell how far it is moved, because there
// is no /proc, or where a sandbox does not allow it, it is the wall clock.
func machineClock(boot string) clock {
	moved, known := bootMoved()
	if _, ok := bootTime(); !ok || !known {
		return wallClock()
	}
	return clock{bootName(boot), func() stamp {
		now, _ := bootTime()
		return now.add(-moved)
	}}
}

func bootTime() (stamp, bool) {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	return stamp(ts.Nano()), errno == 0
}

// bootMoved is how far this process's time namespace has moved CLOCK_BOOTTIME; false: nobody can tell.
var bootMoved = sync.OnceValues(func() (time.Duration, bool) { return readMoved("/proc") })

func readMoved(proc string) (time.Duration, bool) {
	text, err := os.ReadFile(proc + "/self/timens_offsets")
	if errors.Is(err, fs.ErrNotExist) { // a kernel without time namespaces, if it is a kernel's
		_, err := os.ReadFile(proc + "/self/stat")
		return 0, err == nil
	}
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[0] != "boottime" && fields[0] != strconv.Itoa(clockBoottime) {
			continue
		}
		seconds, err1 := strconv.ParseInt(fields[1], 10, 64)
		nanos, err2 := strconv.ParseInt(fields[2], 10, 64)
		return time.Duration(seconds)*time.Second + time.Duration(nanos), err1 == nil && err2 == nil
	}
	return 0, false
}

// systemBoot names the time since the machine was started: different after every restart. "": not known.
func systemBoot() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
