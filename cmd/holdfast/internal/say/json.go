package say

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
)

// JSON writes v, indented, with everything that is not printable as \u escapes: they mean the same to a program.
func JSON(out io.Writer, v any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	var b bytes.Buffer
	for _, r := range text.String() {
		if r == '\n' || visible(r) { // a line end inside a string is escaped already
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}
