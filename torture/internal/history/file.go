package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"holdfast.dev/driver"
)

func sum(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// Now is the time of records.
func Now() driver.Instant { return driver.Boot().Now() }

// A Writer appends records to a file. It may be used by many goroutines; each record is one write, and the first error stays.
type Writer struct {
	mu  sync.Mutex
	to  io.Writer
	buf []byte
	err error
}

// NewWriter returns a writer of records.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Append writes a record, stamped with the time if it has none. It returns the time.
func (w *Writer) Append(r Record) driver.Instant {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.At == 0 {
		r.At = Now() // under the mutex: a file's records are in the order of their times
	}
	w.buf = r.append(w.buf[:0])
	if n, err := w.to.Write(w.buf); err != nil && w.err == nil {
		w.err = fmt.Errorf("writing the history, %d of %d bytes: %w", n, Size, err)
	}
	return r.At
}

// Err is the first error of Append.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Decode returns the records of a file, in their order. A last one that is cut short belongs to a process that was killed while it
// wrote: it is dropped.
func Decode(from io.Reader) ([]Record, error) {
	data, err := io.ReadAll(from)
	if err != nil {
		return nil, err
	}
	records := make([]Record, 0, len(data)/Size)
	for len(data) >= Size {
		r, err := decode(data[:Size])
		if err != nil {
			return records, fmt.Errorf("record %d: %w", len(records), err)
		}
		records, data = append(records, r), data[Size:]
	}
	return records, nil
}

// Encode returns records as a file has them.
func Encode(records []Record) []byte {
	b := make([]byte, 0, len(records)*Size)
	for _, r := range records {
		b = r.append(b)
	}
	return b
}

// A History is a round: what is known about it, and its records in the order of time.
type History struct {
	Meta    Meta
	Records []Record
}

// ErrEmpty: there are no records, so nothing can be said about a round.
var ErrEmpty = errors.New("there are no records")

// New merges the records of a round's files. Of records with equal times those of one file stay in their order.
func New(meta Meta, files ...[]Record) (*History, error) {
	h := &History{Meta: meta, Records: slices.Concat(files...)}
	if len(h.Records) == 0 {
		return nil, ErrEmpty
	}
	slices.SortStableFunc(h.Records, func(a, b Record) int { return cmp.Compare(a.At, b.At) })
	for i, r := range h.Records {
		if err := meta.valid(r); err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
	}
	return h, nil
}

// Parse reads the files of a round: meta.json, and all that end with .hist.
func Parse(files map[string][]byte) (*History, error) {
	var meta Meta
	data, there := files["meta.json"]
	if !there {
		return nil, errors.New("there is no meta.json: the round did not come to its end")
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return nil, fmt.Errorf("meta.json: %w", err)
	}
	var all [][]Record
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".hist") {
			continue
		}
		records, err := Decode(bytes.NewReader(files[name]))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, records)
	}
	return New(meta, all...)
}
