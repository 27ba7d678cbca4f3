//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/group"
	"holdfast.dev/cmd/holdfast/internal/guard"
)

// What the command finds in its environment.
const (
	nameVariable  = "HOLDFAST_NAME"  // the locks that it runs under, one a line
	tokenVariable = "HOLDFAST_TOKEN" // their fencing tokens, in the same order
	heldVariable  = "HOLDFAST_HELD"  // all holds around it, those of outer runs too: for us
)

// names are the plan's names, each once.
func (p *Plan) names() []string {
	var names []string
	for _, name := range p.Names {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// environment is the command's: ours, and what it must know of its locks.
func (p *Plan) environment(hold *holdfast.Hold, news *news, runs string) []string {
	parts := make(map[string]*holdfast.Hold)
	for _, part := range hold.Parts() {
		parts[part.Name()] = part
	}
	var tokens []string
	held := around()
	for _, name := range p.names() {
		token := parts[name].Token()
		tokens = append(tokens, strconv.FormatUint(token, 10))
		held = append(held, outer{token: token, permits: p.Limit > 0, label: news.label(name), name: name})
	}
	ours := map[string]string{
		nameVariable:       strings.Join(p.names(), "\n"),
		tokenVariable:      strings.Join(tokens, "\n"),
		heldVariable:       encodeHeld(held),
		group.MarkVariable: runs,
	}
	environment := slices.DeleteFunc(os.Environ(), func(each string) bool {
		key, _, _ := strings.Cut(each, "=")
		_, replaced := ours[key]
		return replaced
	})
	for _, key := range []string{nameVariable, tokenVariable, heldVariable, group.MarkVariable} {
		environment = append(environment, key+"="+ours[key])
	}
	return environment
}

// runsWith names the runs around this one, and this one.
func runsWith(id guard.ID) string {
	if outer := os.Getenv(group.MarkVariable); outer != "" {
		return outer + "/" + id.String()
	}
	return id.String()
}

// An outer is a hold of a run around this one.
type outer struct {
	token   uint64
	permits bool
	label   string
	name    string
}

// encodeHeld writes one hold a line: its token, what kind it is, its quoted label, and its name, which has no line end in it.
func encodeHeld(held []outer) string {
	lines := make([]string, len(held))
	for i, o := range held {
		kind := "lock"
		if o.permits {
			kind = "permits"
		}
		lines[i] = fmt.Sprintf("%d %s %q %s", o.token, kind, o.label, o.name)
	}
	return strings.Join(lines, "\n")
}

// around are the holds of the runs around this one. What is not written as we write it is not ours.
func around() []outer {
	var held []outer
	for line := range strings.Lines(os.Getenv(heldVariable)) {
		line = strings.TrimSuffix(line, "\n")
		token, rest, _ := strings.Cut(line, " ")
		kind, rest, _ := strings.Cut(rest, " ")
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			continue
		}
		label, _ := strconv.Unquote(quoted)
		name, isNamed := strings.CutPrefix(rest[len(quoted):], " ")
		number, err := strconv.ParseUint(token, 10, 64)
		if err == nil && isNamed {
			held = append(held, outer{number, kind == "permits", label, name})
		}
	}
	return held
}

// A nestedError says that a run would wait for itself.
type nestedError struct{ outer outer }

func (e *nestedError) Error() string {
	return fmt.Sprintf("%q is held by a run around this one (token %d), which waits for this one to end: "+
		"take it once, on the outside, or give this one another name", e.outer.name, e.outer.token)
}

// Is makes a nestedError ErrHeld.
func (e *nestedError) Is(target error) bool { return target == holdfast.ErrHeld }

// refuseNested refuses what a run around this one holds: it would wait for us, and we for it. What the environment says is believed
// only if the store shows that hold: the environment may be an old one, and the store another.
func (p *Plan) refuseNested(ctx context.Context, client *holdfast.Client) error {
	for _, o := range around() {
		if !slices.Contains(p.Names, o.name) || o.permits != (p.Limit > 0) {
			continue
		}
		info, err := p.inspect(ctx, client, o.name)
		if err != nil && !errors.Is(err, holdfast.ErrUnsupported) {
			return err
		}
		if err != nil || slices.ContainsFunc(info.Holders, func(h holdfast.Holder) bool { return h.Token == o.token && h.Label == o.label }) {
			return &nestedError{o}
		}
	}
	return nil
}

func (p *Plan) inspect(ctx context.Context, client *holdfast.Client, name string) (*holdfast.Info, error) {
	if p.Limit > 0 {
		return client.Semaphore(name, p.Limit).Inspect(ctx)
	}
	return client.Inspect(ctx, name)
}
