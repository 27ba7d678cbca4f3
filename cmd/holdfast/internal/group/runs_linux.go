package group

import (
	"bytes"
	"os"
	"strconv"
)

// runs looks through /proc. Without one it believes that a group which has members runs.
func runs(group int) bool {
	found := false
	err := Each(func(pid, itsGroup int, state byte) bool {
		found = itsGroup == group && state != 'Z' && state != 'X'
		return !found
	})
	return found || err != nil
}

// Each calls f with every process that it can see, until f returns false.
func Each(f func(pid, group int, state byte) bool) error {
	proc, err := os.Open("/proc")
	if err != nil {
		return err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended meanwhile
		}
		// pid (name) state parent group …, and the name may contain anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 3 {
			continue
		}
		group, err := strconv.Atoi(string(fields[2]))
		if err == nil && !f(pid, group, fields[0][0]) {
			return nil
		}
	}
	return nil
}
