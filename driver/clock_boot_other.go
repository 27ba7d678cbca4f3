//go:build !linux

package driver

// newBootClock counts what package time can see: see Boot.
func newBootClock() *ringer { return newElapsedClock(readTime()) }
