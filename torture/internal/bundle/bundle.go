// Package bundle keeps rounds of torture, so that they can be looked at and checked again by anybody, at any time. A bundle is a
// directory that grows: a run that goes on with it adds its rounds to those that are there.
//
//	bundle.json        the form of the bundle, and the runs whose rounds are in it
//	round-000001.tgz   the files of a round: see package round
//	round-000001.json  what was found in it; made again by a check
//	round-000001.html  if it is not linearizable: porcupine's page about it
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast.dev/torture/internal/history"
)

// Format is the version of the form.
const Format = 1

// ErrNone: there is no bundle in that directory.
var ErrNone = errors.New("no bundle of torture")

// A Bundle is a directory of rounds.
type Bundle struct {
	dir  string
	head head
}

type head struct {
	Format int   `json:"format"`
	Runs   []Run `json:"runs"`
}

// A Run has put rounds into a bundle.
type Run struct {
	Command string `json:"command"` // its command line
	Seed    uint64 `json:"seed"`
}

// Open opens a bundle that is there.
func Open(dir string) (*Bundle, error) {
	b := &Bundle{dir: dir}
	data, err := os.ReadFile(filepath.Join(dir, "bundle.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: there is no bundle.json in it", dir, ErrNone)
	}
	if info, failed := os.Stat(dir); failed == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file, and a bundle is a directory", dir)
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &b.head); err != nil {
		return nil, fmt.Errorf("bundle.json of %s is damaged: %w", dir, err)
	}
	if b.head.Format != Format {
		return nil, fmt.Errorf("the bundle %s has form %d, and this program knows form %d: use the one that wrote it", dir, b.head.Format, Format)
	}
	return b, nil
}

// Make opens a bundle, or makes one in a directory that is empty or not there. The run is kept with it.
func Make(dir string, run Run) (*Bundle, error) {
	b, err := Open(dir)
	if errors.Is(err, ErrNone) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			return nil, errors.Join(err, fmt.Errorf("%s is no bundle of torture, and is not empty: name another directory", dir))
		}
		b, err = &Bundle{dir: dir, head: head{Format: Format}}, nil
	}
	if err != nil {
		return nil, err
	}
	if !slices.Contains(b.head.Runs, run) {
		b.head.Runs = append(b.head.Runs, run)
	}
	data, err := json.MarshalIndent(b.head, "", "  ")
	if err != nil {
		return nil, err
	}
	return b, replace(filepath.Join(dir, "bundle.json"), data)
}

// Dir is where it is.
func (b *Bundle) Dir() string { return b.dir }

// Runs are those whose rounds are in it.
func (b *Bundle) Runs() []Run { return b.head.Runs }

// Rounds are the numbers of the rounds in it, in order.
func (b *Bundle) Rounds() ([]int, error) {
	entries, err := os.ReadDir(b.dir) // no pattern: the directory's own name may look like one
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "round-%d.tgz", &n); err == nil && e.Name() == filepath.Base(b.Name(n, "tgz")) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// Next is the number of the next round.
func (b *Bundle) Next() (int, error) {
	numbers, err := b.Rounds()
	if err != nil || len(numbers) == 0 {
		return 1, err
	}
	return numbers[len(numbers)-1] + 1, nil
}

// Name is the name of a round's file, with this ending.
func (b *Bundle) Name(number int, ending string) string {
	return filepath.Join(b.dir, fmt.Sprintf("round-%06d.%s", number, ending))
}

// Add packs the files of a directory as a round. It is there as a whole, or not at all.
func (b *Bundle) Add(number int, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		header := &tar.Header{Name: e.Name(), Mode: 0o644, Size: int64(len(data)), ModTime: time.Unix(0, 0)}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(data); err != nil {
			return err
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		return err
	}
	return replace(b.Name(number, "tgz"), packed.Bytes())
}

// most is how much a round may have, unpacked: a file that says more is not ours.
const most = 4 << 30

// ErrNoRound: the bundle has no round of that number.
var ErrNoRound = errors.New("there is no such round")

// Load reads a round.
func (b *Bundle) Load(number int) (*history.History, error) {
	files, err := unpack(b.Name(number, "tgz"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("round %d of %s: %w; %s", number, b.dir, ErrNoRound, b.describe())
	}
	if err != nil {
		return nil, fmt.Errorf("round %d of %s: %w", number, b.dir, err)
	}
	h, err := history.Parse(files)
	if err != nil {
		return nil, fmt.Errorf("round %d of %s: %w", number, b.dir, err)
	}
	return h, nil
}

// describe says which rounds there are.
func (b *Bundle) describe() string {
	switch numbers, err := b.Rounds(); {
	case err != nil:
		return err.Error()
	case len(numbers) == 0:
		return "it has none yet"
	case len(numbers) == 1:
		return fmt.Sprintf("it has round %d", numbers[0])
	default:
		return fmt.Sprintf("it has %d, from %d to %d", len(numbers), numbers[0], numbers[len(numbers)-1])
	}
}

func unpack(name string) (map[string][]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	unzipped := io.LimitReader(zip, most)
	files, archive := make(map[string][]byte), tar.NewReader(unzipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			files[header.Name], err = io.ReadAll(archive)
		}
		if err != nil {
			return nil, fmt.Errorf("it is damaged: %w", err)
		}
	}
	if _, err := io.Copy(io.Discard, unzipped); err != nil { // the sum comes last, and is compared only if somebody reads so far
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	return files, nil
}

// Write writes a file beside a round's, as a whole.
func (b *Bundle) Write(number int, ending string, data []byte) error {
	return replace(b.Name(number, ending), data)
}

// WritePage writes the page about a round, or takes away that of an earlier judgement if there is none.
func (b *Bundle) WritePage(number int, page []byte) error {
	if page != nil {
		return b.Write(number, "html", page)
	}
	if err := os.Remove(b.Name(number, "html")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// replace writes a file so that it is never seen half written.
func replace(name string, data []byte) error {
	if err := os.WriteFile(name+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// Sum tells whether a round's file is the one that something was said about.
func (b *Bundle) Sum(number int) (string, error) {
	data, err := os.ReadFile(b.Name(number, "tgz"))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(data)), nil
}
