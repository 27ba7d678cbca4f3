package driver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the longest name, in bytes.
const MaxName = 512

// ErrName: the name is empty, longer than MaxName, not UTF-8, or contains a control character. No store was touched.
var ErrName = errors.New("not a lock name")

// CheckName reports why name cannot be the name of a lock. Its error is ErrName.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty; use 1 to %d bytes of UTF-8", ErrName, MaxName)
	case len(name) > MaxName:
		return fmt.Errorf("%w: it has %d bytes, %d are allowed; shorten or hash it", ErrName, len(name), MaxName)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: it is not valid UTF-8; encode binary names, for instance as hexadecimal", ErrName)
	}
	if i := strings.IndexFunc(name, unicode.IsControl); i >= 0 {
		r, _ := utf8.DecodeRuneInString(name[i:])
		return fmt.Errorf("%w: control character %U at byte %d; encode or remove it", ErrName, r, i)
	}
	return nil
}

// An Encoding turns names into keys that a store allows, injectively: different names, different keys. Bytes that are not Safe
// become Escape and two lower-case hexadecimal digits, so a key is readable where the name is. A key longer than Max becomes
// Escape, 'x' and 62 digits of the name's SHA-256, 64 bytes in all: the store must then keep the name beside it and check it (Hashed).
//
// For a store that ignores case, leave upper-case letters and all bytes from 0x80 on out of Safe, and let Escape be no letter.
// Escape must be in no other way special to the store.
type Encoding struct {
	Safe   func(c byte) bool
	Escape byte // escaped itself, whatever Safe says
	Max    int  // 0: no limit; else at least 64, or Encode panics
}

const hashedLen = 64

const digits = "0123456789abcdef"

// Encode returns the key of name.
func (e Encoding) Encode(name string) string {
	if e.Max > 0 && e.Max < hashedLen {
		panic("driver: Encoding.Max is less than 64: a hashed key would not fit")
	}
	if e.isPlain(name) {
		return name
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; c != e.Escape && e.Safe(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte(e.Escape)
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	if e.Max > 0 && b.Len() > e.Max {
		sum := sha256.Sum256([]byte(name))
		return (string([]byte{e.Escape, 'x'}) + hex.EncodeToString(sum[:]))[:hashedLen]
	}
	return b.String()
}

// isPlain reports whether name is its own key.
func (e Encoding) isPlain(name string) bool {
	for i := range len(name) {
		if c := name[i]; c == e.Escape || !e.Safe(c) {
			return false
		}
	}
	return e.Max == 0 || len(name) <= e.Max
}

// Hashed reports whether key stands for a name only by its hash.
func (e Encoding) Hashed(key string) bool {
	return e.Max > 0 && len(key) == hashedLen && key[0] == e.Escape && key[1] == 'x' && strings.Trim(key[2:], digits) == ""
}

// Decode returns the name of a key that Encode made, and false for any other key and for a hashed one.
func (e Encoding) Decode(key string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(key); i++ {
		if key[i] != e.Escape {
			b.WriteByte(key[i])
			continue
		}
		if i+2 >= len(key) {
			return "", false
		}
		raw, err := hex.DecodeString(key[i+1 : i+3])
		if err != nil {
			return "", false
		}
		b.WriteByte(raw[0])
		i += 2
	}
	name := b.String()
	if e.Encode(name) != key { // not the one way in which Encode would have written it
		return "", false
	}
	return name, true
}
