package program

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/cmd/holdfast/internal/say"
)

// withDashes is the command line of a run as it was typed, with -- put in behind the first name; "" if it is there already, or if
// there is nothing to put it before.
func (p *program) withDashes(run *cobra.Command) string {
	at := p.positional(run.Flags(), 2) // run, NAME, and then what was meant as the command
	if at < 0 || slices.Contains(p.args, "--") {
		return ""
	}
	words := []string{"holdfast"}
	for i, arg := range p.args {
		if i == at {
			words = append(words, "--")
		}
		if i > at && slices.ContainsFunc(p.args[at+1:], mayBeSecret) { // the command's own, which errors and logs must not repeat
			words = append(words, "…")
			break
		}
		if i > 0 && strings.TrimLeft(p.args[i-1], "-") == "store" { // its value is a secret, whatever it looks like
			words = append(words, secret(arg))
		} else {
			words = append(words, shellWord(arg))
		}
	}
	return strings.Join(words, " ")
}

// mayBeSecret reports whether an argument of a command may be a password, have one in it, or stand before one: -pSECRET, -p SECRET,
// --password SECRET, PASSWORD=SECRET, user:SECRET@host.
func mayBeSecret(arg string) bool {
	long := strings.HasPrefix(arg, "--")
	short := strings.HasPrefix(arg, "-") && !long
	return strings.ContainsAny(arg, "=@:") || short && (len(arg) > 2 || strings.EqualFold(arg, "-p")) ||
		long && slices.ContainsFunc([]string{"pass", "secret", "token", "key", "auth"}, func(word string) bool { return strings.Contains(arg, word) })
}

// positional is the place of the nth word, counted from 0, that is neither a flag nor the value of one; -1 if there are fewer. A flag
// that is not known is taken for one without a value.
func (p *program) positional(flags *pflag.FlagSet, n int) int {
	for i := 0; i < len(p.args); i++ {
		arg := p.args[i]
		switch {
		case len(arg) > 1 && arg[0] == '-':
			if takesNext(flags, arg) {
				i++
			}
		case n == 0:
			return i
		default:
			n--
		}
	}
	return -1
}

// takesNext reports whether the value of a flag is the next argument.
func takesNext(flags *pflag.FlagSet, arg string) bool {
	if name, long := strings.CutPrefix(arg, "--"); long {
		f := flags.Lookup(name) // not found with =
		return f != nil && f.NoOptDefVal == ""
	}
	for i, letter := range arg[1:] {
		if letter >= 0x80 {
			return false
		}
		f := flags.ShorthandLookup(string(letter))
		if f == nil {
			return false
		}
		if f.NoOptDefVal == "" {
			return i == len(arg)-2
		}
	}
	return false
}

// shellWord is an argument as one would type it.
func shellWord(arg string) string {
	arg = redact(arg)
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,+%@…", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(say.Line(arg), "'", `'\''`) + "'"
}

// redact is echo for an argument that may be a flag with its value.
func redact(arg string) string {
	name, value, found := strings.Cut(arg, "=")
	switch {
	case !found || !strings.HasPrefix(arg, "-") || flagName(name) != name:
		return echo(arg)
	case strings.TrimLeft(name, "-") == "store":
		return name + "=" + secret(value)
	}
	return name + "=" + echo(value)
}

// secret is what may be repeated of a store's URL.
func secret(url string) string {
	if shown := echo(url); shown != url {
		return shown
	}
	return "…"
}
