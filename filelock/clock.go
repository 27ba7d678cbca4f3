package filelock

import (
	"fmt"
	"hash/crc32"
	"time"
)

// A clock is what stamps are read from. Its name is in the files that it was used for: whoever has a clock of another name counts what
// is in there by the wall clock. So a minimum hold neither ends at once nor lasts for years because another process, in a container
// for instance, has another idea of the time since the machine was started.
type clock struct {
	name string
	now  func() stamp
}

const wallName = "wall"

// wallClock is the wall clock. Somebody may set it.
func wallClock() clock {
	return clock{wallName, func() stamp { return stamp(time.Now().UnixNano()) }}
}

// bootName names the clock that counts from the start of the machine. The table is a copy: for its own, package crc32 would first make
// others, for speed that is of no use here.
func bootName(boot string) string {
	plain := *crc32.IEEETable
	return fmt.Sprintf("boot-%08x", crc32.Checksum([]byte(boot), &plain))
}
