package say

import "os"

// A Terminal is what a Voice speaks to, if that is a terminal.
type Terminal struct{ file *os.File }

// Terminal returns the terminal that the Voice prints on, and whether there is one.
func (v *Voice) Terminal() (Terminal, bool) {
	f, ok := v.out.(*os.File)
	if !ok || !isTerminal(f) {
		return Terminal{}, false
	}
	return Terminal{f}, true
}

// Width is how many columns it has; 0: not known.
func (t Terminal) Width() int { return terminalWidth(t.file) }

// InPlace reports whether a line may be rewritten in place now: not on a dumb terminal, and not while this process is in the
// background, where the terminal is somebody else's.
func (t Terminal) InPlace() bool { return os.Getenv("TERM") != "dumb" && inForeground(t.file) }
