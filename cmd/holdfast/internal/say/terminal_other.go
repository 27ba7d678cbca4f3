//go:build !unix

package say

import "os"

// Without x/sys/unix nothing is shown in place: waiting is told as to a file.
func isTerminal(*os.File) bool { return false }

func terminalWidth(*os.File) int { return 0 }

func inForeground(*os.File) bool { return false }
