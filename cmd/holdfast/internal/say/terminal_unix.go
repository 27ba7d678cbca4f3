//go:build unix

package say

import (
	"os"

	"golang.org/x/sys/unix"
)

// isTerminal asks for the window size: only terminals have one. A process in the background may ask.
func isTerminal(f *os.File) bool {
	_, err := windowSize(f)
	return err == nil
}

func terminalWidth(f *os.File) int {
	size, err := windowSize(f)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

func windowSize(f *os.File) (size *unix.Winsize, err error) {
	return ask(f, func(fd int) (*unix.Winsize, error) { return unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ) })
}

// inForeground reports whether the terminal's foreground is this process's group. Of a terminal that is not the controlling one
// nobody else uses the line: an error counts as yes.
func inForeground(f *os.File) bool {
	group, err := ask(f, func(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.TIOCGPGRP) })
	return err != nil || group == unix.Getpgrp()
}

// ask is used instead of Fd, which changes how the file is read and written, for the processes that share it too.
func ask[T any](f *os.File, question func(fd int) (T, error)) (answer T, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return answer, err
	}
	if refused := raw.Control(func(fd uintptr) { answer, err = question(int(fd)) }); refused != nil {
		err = refused
	}
	return answer, err
}
