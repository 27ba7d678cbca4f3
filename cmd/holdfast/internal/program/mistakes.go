package program

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/say"
)

// echo is how a piece of the command line may be repeated: of a URL only its scheme is, and of what may hold a password nothing.
func echo(arg string) string {
	before, _, isURL := strings.Cut(arg, "://")
	switch {
	case isURL && !strings.ContainsAny(before, ":@/ "):
		return before + "://…"
	case isURL || strings.Contains(arg, "@") && strings.Contains(arg, ":"):
		return "…"
	}
	return arg
}

// flagName is what of an unknown flag may be repeated: what stands behind a name, in -store=URL for instance, is not part of it.
func flagName(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
	if end >= 0 {
		text = text[:end]
	}
	return text
}

// flagError says what is wrong with a flag, and what would be right.
func (p *program) flagError(c *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	help := fmt.Sprintf(`"holdfast help%s" lists the flags`, strings.TrimPrefix(c.CommandPath(), "holdfast"))
	if c == c.Root() {
		help = "flags of a command stand behind it, as in: holdfast run -n NAME -- COMMAND"
	}
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		return p.unknownFlag(c, unknown, help)
	case errors.As(err, &missing):
		return exit.Usagef("%s needs a value; %s", flagTitle(missing.GetFlag()), help)
	case errors.As(err, &invalid):
		if errors.Is(err, errTime) {
			return exit.Usagef("%s %v; not %s", flagTitle(invalid.GetFlag()), errTime, say.Quote(echo(invalid.GetValue())))
		}
		if err := wrongNumber(invalid.GetFlag(), invalid.GetValue()); err != nil {
			return err
		}
		if invalid.GetFlag().NoOptDefVal == "true" {
			return exit.Usagef("%s is on or off; write it without a value, not with %s", flagTitle(invalid.GetFlag()), say.Quote(echo(invalid.GetValue())))
		}
		return exit.Usagef("%s does not take %s; %s", flagTitle(invalid.GetFlag()), say.Quote(echo(invalid.GetValue())), help)
	}
	return exit.Usagef("a flag is malformed; %s", help)
}

// wrongNumber says what a flag takes instead of a value; nil if it does not take a number.
func wrongNumber(f *pflag.Flag, value string) error {
	takes := ""
	switch f.Name {
	case "conflict-exit-code":
		takes = "an exit code from 0 to 255"
	case "limit":
		takes = "how many may run at a time, 1 or more"
	default:
		return nil
	}
	return exit.Usagef("%s takes %s, not %s", flagTitle(f), takes, say.Quote(echo(value)))
}

// flagTitle is what a flag is called in messages.
func flagTitle(f *pflag.Flag) string {
	if f.Shorthand != "" && f.Name != f.Shorthand {
		return "-" + f.Shorthand + ", --" + f.Name
	}
	return "--" + f.Name
}

// unknownFlag finds what was meant: a flag that is spelt alike, a long one with one dash, or a flag of the command behind a --
// that was forgotten.
func (p *program) unknownFlag(c *cobra.Command, e *pflag.NotExistError, help string) error {
	name, dashes := flagName(e.GetSpecifiedName()), "--"
	if cluster := e.GetSpecifiedShortnames(); cluster != "" {
		_, size := utf8.DecodeRuneInString(cluster)
		name, dashes = cluster[:size], "-" // what follows the letter may be its value: -pSECRET
		if whole := p.cluster(cluster); c.Flags().Lookup(whole) != nil {
			return exit.Usagef("unknown flag -%s; did you mean --%s?", whole, whole)
		}
	}
	if c.Name() == "run" {
		if line := p.withDashes(c); line != "" {
			help += "; if it is a flag of the command to run, put -- before that command: " + line
		}
	}
	if near := nearestFlag(c.Flags(), name); near != "" && dashes == "--" {
		return exit.Usagef("unknown flag --%s; did you mean --%s? %s", name, near, help)
	}
	return exit.Usagef("unknown flag %s%s; %s", dashes, name, help)
}

// cluster is the whole argument, without its dash and its value, that ends in the letters which pflag had not read yet.
func (p *program) cluster(rest string) string {
	for _, arg := range p.args {
		if strings.HasPrefix(arg, "-") && strings.HasSuffix(arg, rest) {
			return flagName(arg[1:])
		}
	}
	return flagName(rest)
}

// nearestFlag is the flag whose name differs least, if that is little.
func nearestFlag(flags *pflag.FlagSet, name string) string {
	best, least := "", 3
	flags.VisitAll(func(f *pflag.Flag) {
		if d := distance(name, f.Name); d < least && !f.Hidden {
			best, least = f.Name, d
		}
		if best == "" && len(name) > 2 && strings.HasPrefix(f.Name, name) && !f.Hidden {
			best = f.Name
		}
	})
	return best
}

// distance is how many letters must be put in, left out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
