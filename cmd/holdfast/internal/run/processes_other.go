//go:build unix && !linux

package run

// fewProcesses: it is not known here, and a few threads do no harm.
func fewProcesses() bool { return true }
