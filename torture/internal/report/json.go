package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// JSON writes the document, on one line: a timeline has thousands of holds. jq makes it readable.
func JSON(w io.Writer, d *Document) error {
	out := *d
	out.Format = Format
	return json.NewEncoder(w).Encode(&out)
}

// ErrFormat: the document was written by another version of this program, in a form that this one does not know.
var ErrFormat = errors.New("the report has a form that this version does not know")

// ReadJSON reads what JSON wrote.
func ReadJSON(r io.Reader) (*Document, error) {
	decoder := json.NewDecoder(r)
	d := new(Document)
	if err := decoder.Decode(d); err != nil {
		return nil, fmt.Errorf("reading a report: %w", err)
	}
	if d.Format != Format {
		return nil, fmt.Errorf("%w: %d, and not %d; make it again from its bundle", ErrFormat, d.Format, Format)
	}
	return d, nil
}
