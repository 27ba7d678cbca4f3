// Package waiting tells whoever waits for a lock who has it.
package waiting

import (
	"context"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/say"
)

// A Display is an Observer that shows how a wait goes.
type Display struct {
	voice   *say.Voice
	verbose bool
}

// New makes a Display.
func New(voice *say.Voice, verbose bool) *Display { return &Display{voice: voice, verbose: verbose} }

// Observe takes news.
func (d *Display) Observe(context.Context, holdfast.Event) {}

// Done ends the display: what was shown in place is wiped. Calling it again does nothing.
func (d *Display) Done() {}
