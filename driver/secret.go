package driver

import (
	"fmt"
	"io"
)

// A Secret is a text that must not be printed: a password. Printing it in any way shows a placeholder, also where it stands in a
// field of somebody else's struct (an unexported one shows an address, because fmt asks no methods there). Two Secrets cannot be
// compared by ==.
type Secret struct {
	text *string // a pointer, because fmt prints unexported fields without asking their methods
}

// NewSecret hides text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the text, for the wire. Never print it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Empty reports whether there is no text.
func (s Secret) Empty() bool { return s.text == nil }

func (s Secret) String() string {
	if s.Empty() {
		return ""
	}
	return hidden
}

// Format prints String, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// MarshalText writes a placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
