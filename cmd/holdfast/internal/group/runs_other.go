//go:build unix && !linux

package group

// runs believes that a group which has members runs.
func runs(int) bool { return true }
