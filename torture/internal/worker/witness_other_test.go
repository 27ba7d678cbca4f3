//go:build !linux

package worker_test

import "holdfast.dev/torture/internal/history"

// procfs reports whether this can be counted here.
func procfs(f history.Flag) bool { return f == history.Goroutines }
