package bundle_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/torture/internal/bundle"
	"holdfast.dev/torture/internal/history"
)

var first = bundle.Run{Command: "holdfast torture --seed 1", Seed: 1}

// A round as small as it can be: two files with records, and what is known about it.
func roundFiles(t *testing.T, number int) (files map[string][]byte, want *history.History) {
	t.Helper()
	meta := history.Meta{Number: number, Seed: 7, Store: "memory", Class: "within", TTL: time.Second, Locks: []history.LockMeta{{Name: "hot"}}}
	text, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	one := []history.Record{{At: 1, Op: history.Round, Phase: history.Began}, {At: 3, Op: history.Round, Phase: history.Ended}}
	two := []history.Record{{At: 2, Op: history.Inspect, Phase: history.Asked, Process: 1}}
	if want, err = history.New(meta, one, two); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"meta.json": text, "controller.hist": history.Encode(one), "process-1.hist": history.Encode(two),
		"log.txt": []byte("nothing to say")}, want
}

func directory(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func makeBundle(t *testing.T, dir string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Make(dir, first)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func add(t *testing.T, b *bundle.Bundle, number int) *history.History {
	t.Helper()
	files, want := roundFiles(t, number)
	if err := b.Add(number, directory(t, files)); err != nil {
		t.Fatal(err)
	}
	return want
}

// A bundle is made in a directory that is not there or is empty; what is put in comes out; whoever opens it later finds all.
// Nothing about this depends on how the directory is called.
func TestGrows(t *testing.T) {
	for _, name := range []string{"new", "deep/er", "[a-z]*?"} {
		dir := filepath.Join(t.TempDir(), name)
		b := makeBundle(t, dir)
		if numbers, err := b.Rounds(); len(numbers) != 0 || err != nil || b.Dir() != dir {
			t.Errorf("%s: a new one: %v, %v, %s", name, numbers, err, b.Dir())
		}
		var want []*history.History
		for i := 1; i <= 11; i++ {
			next, err := b.Next()
			if err != nil || next != i {
				t.Fatalf("%s: next is %d, %v; want %d", name, next, err, i)
			}
			want = append(want, add(t, b, i))
		}
		second := bundle.Run{Command: "holdfast torture --seed 2", Seed: 2}
		for _, run := range []bundle.Run{second, first, second} { // a run that is repeated is no other one
			if _, err := bundle.Make(dir, run); err != nil {
				t.Fatal(err)
			}
		}
		b, err := bundle.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(b.Runs(), []bundle.Run{first, second}) {
			t.Errorf("%s: runs %v", name, b.Runs())
		}
		numbers, err := b.Rounds()
		if !slices.Equal(numbers, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) || err != nil {
			t.Errorf("%s: rounds %v, %v", name, numbers, err)
		}
		for i, n := range numbers {
			if got, err := b.Load(n); err != nil || !reflect.DeepEqual(got, want[i]) {
				t.Errorf("%s: round %d: %v, %+v; want %+v", name, n, err, got, want[i])
			}
		}
	}
}

// What is no round does not count as one, and a gap is not filled: numbers are never used again.
func TestNumbers(t *testing.T) {
	b := makeBundle(t, t.TempDir())
	add(t, b, 3)
	for _, name := range []string{"round-000009.tgz.new", "round-000008.json", "round-7.tgz", "round-x.tgz", "notes.txt", "round-0000010.tgz"} {
		if err := os.WriteFile(filepath.Join(b.Dir(), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	numbers, err := b.Rounds()
	next, failed := b.Next()
	if !slices.Equal(numbers, []int{3}) || next != 4 || err != nil || failed != nil {
		t.Errorf("rounds %v, next %d, %v, %v", numbers, next, err, failed)
	}
}

// What is not ours is not touched.
func TestMakeRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "is not empty: name another directory", file: "is a file"} {
		if b, err := bundle.Make(path, first); b != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", path, b, err, want)
		}
	}
	entries, err := os.ReadDir(dir)
	data, failed := os.ReadFile(file)
	if len(entries) != 1 || string(data) != "mine" || err != nil || failed != nil {
		t.Errorf("left: %v, %q, %v, %v", entries, data, err, failed)
	}
}

// A file of a bundle is the old one or the new one, whole: whoever reads the old one reads on, a write that fails leaves it, and what a
// killed run left is in nobody's way.
func TestReplacesAtOnce(t *testing.T) {
	b := makeBundle(t, t.TempDir())
	write := func(text string) error { return b.Write(1, "json", []byte(text)) }
	if err := write("old"); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(b.Name(1, "json"))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := os.WriteFile(b.Name(1, "json")+".new", []byte("half of something that is much longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write("new"); err != nil {
		t.Fatal(err)
	}
	old, err := io.ReadAll(reader)
	now, failed := os.ReadFile(b.Name(1, "json"))
	if string(old) != "old" || string(now) != "new" || err != nil || failed != nil {
		t.Errorf("the reader saw %q, then there is %q; %v, %v", old, now, err, failed)
	}
	if err := os.Mkdir(b.Name(1, "json")+".new", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := write("not to be written"); err == nil {
		t.Error("it could be written")
	}
	if now, err := os.ReadFile(b.Name(1, "json")); string(now) != "new" || err != nil {
		t.Errorf("a write that failed left %q, %v", now, err)
	}
}

// A round that cannot be packed is not there at all.
func TestAddWholeOrNot(t *testing.T) {
	b := makeBundle(t, t.TempDir())
	files, _ := roundFiles(t, 1)
	dir := directory(t, files)
	if err := os.Mkdir(filepath.Join(dir, "z"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := b.Add(1, dir); err == nil {
		t.Error("a directory was packed as a file")
	}
	if err := b.Add(1, filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a directory that is not there was packed")
	}
	if _, err := b.Load(1); !errors.Is(err, bundle.ErrNoRound) {
		t.Errorf("Load: %v", err)
	}
}
