package filelock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
)

// A disk is a file in memory, whose writer can be killed, or whose space can run out, after so many bytes.
type disk struct {
	data  []byte
	left  int // bytes that can still be written; -1: any number
	space int // how long it can become; 0: any length
}

var errKilled = errors.New("killed")

func (d *disk) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(d.data)) {
		return 0, io.EOF
	}
	n := copy(p, d.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (d *disk) WriteAt(p []byte, off int64) (n int, err error) {
	if d.left >= 0 && len(p) > d.left {
		p, err = p[:d.left], errKilled
	}
	if d.space > 0 && int(off)+len(p) > d.space {
		p, err = p[:max(d.space-int(off), 0)], syscall.ENOSPC
	}
	if grown := int(off) + len(p); grown > len(d.data) {
		d.data = append(d.data, make([]byte, grown-len(d.data))...)
	}
	if d.left >= 0 {
		d.left -= len(p)
	}
	return copy(d.data[off:], p), err
}

func read(t *testing.T, d *disk) string {
	t.Helper()
	b := newBox(d, 0, lockMagic)
	text, err := b.read(false)
	if errors.Is(err, errBlank) {
		return ""
	}
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return string(text)
}

// A writer that is killed at any byte leaves the old text, or the new one.
func TestBoxSurvivesKill(t *testing.T) {
	for _, lengths := range [][2]int{{0, 10}, {10, 20}, {firstRegion, 7}, {100, firstRegion + 1}, {3 * firstRegion, 9 * firstRegion}, {5000, 5}} {
		before, after := strings.Repeat("a", lengths[0]), strings.Repeat("b", lengths[1])
		for cut := 0; ; cut++ {
			if lengths[1] > firstRegion && cut > 700 && cut%97 != 0 {
				continue // most of it is alike
			}
			d := &disk{left: -1}
			b := newBox(d, 0, lockMagic)
			for _, text := range []string{"first", "second", before}[:min(3, 3*lengths[0])] {
				if err := b.write([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			d.left = cut
			err := b.write([]byte(after))
			if d.left = -1; err == nil {
				if got := read(t, d); got != after {
					t.Fatalf("%v: read %q after a complete write", lengths, got)
				}
				break
			}
			if got := read(t, d); got != before && got != after {
				t.Fatalf("%v: killed after %d bytes, read %d bytes, beginning %.10q", lengths, cut, len(got), got)
			}
			again := newBox(d, 0, lockMagic)
			again.read(false)
			if err := again.write([]byte("next")); err != nil || read(t, d) != "next" {
				t.Fatalf("%v: killed after %d bytes, and cannot be written any more: %v", lengths, cut, err)
			}
		}
	}
}

// A text that is no longer than one before needs no space. One that does not fit on the disk changes nothing.
func TestBoxOnAFullDisk(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	d := &disk{left: -1}
	b := newBox(d, 0, lockMagic)
	longest, current := 0, ""
	for round := range 300 {
		text := strings.Repeat(fmt.Sprint(round%10), random.IntN(1+round*20))
		if d.space = len(d.data); round%10 == 0 {
			d.space = 0
		}
		err := b.write([]byte(text))
		switch {
		case err == nil:
			current = text
		case len(text) <= longest || d.space == 0:
			t.Fatalf("seed %d: %d bytes after %d: %v", seed, len(text), longest, err)
		}
		longest = max(longest, len(current))
		if got := read(t, d); got != current {
			t.Fatalf("seed %d: read %d bytes, want %d", seed, len(got), len(current))
		}
	}
}

// What is not ours is not read, whatever byte is changed, and what was changed is noticed.
func TestBoxDamaged(t *testing.T) {
	d := &disk{left: -1}
	b := newBox(d, 0, lockMagic)
	for _, text := range []string{"one", "two"} {
		if err := b.write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range d.data {
		other := &disk{left: -1, data: bytes.Clone(d.data)}
		other.data[i] ^= 0x10
		c := newBox(other, 0, lockMagic)
		text, err := c.read(false)
		if s := string(text); err == nil && s != "two" && s != "one" || err != nil && !errors.Is(err, errDamaged) {
			t.Fatalf("byte %d changed: %q, %v", i, s, err)
		}
		if err == nil && string(text) == "one" && !c.torn {
			t.Fatalf("byte %d changed: the text before is read, and nobody can tell", i)
		}
	}
	for _, junk := range []string{"x", strings.Repeat("junk", 300), lockMagic + strings.Repeat("junk", 20)} {
		c := newBox(&disk{left: -1, data: []byte(junk)}, 0, lockMagic)
		if _, err := c.read(true); !errors.Is(err, errDamaged) {
			t.Errorf("%.10q: %v", junk, err)
		}
	}
}
