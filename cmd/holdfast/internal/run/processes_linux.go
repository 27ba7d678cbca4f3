package run

import (
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// few is how many processes a command may use up.
const few = 10_000

// fewProcesses reports whether the user, or the container, may have so few processes that the command could make them all.
func fewProcesses() bool {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &limit) == nil && limit.Cur < few {
		return true
	}
	return pidsMax("/sys/fs/cgroup/pids.max") < few
}

// pidsMax is the limit of a control group; where there is none, none.
func pidsMax(path string) uint64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return math.MaxUint64
	}
	limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil { // max
		return math.MaxUint64
	}
	return limit
}
