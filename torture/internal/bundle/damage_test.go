package bundle_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"holdfast.dev/torture/internal/bundle"
)

// A head that is missing, damaged or of another time is said to be so.
func TestDamagedHead(t *testing.T) {
	dir := t.TempDir()
	if _, err := bundle.Open(dir); !errors.Is(err, bundle.ErrNone) || !strings.Contains(err.Error(), "bundle.json") {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := bundle.Open(filepath.Join(dir, "nowhere")); !errors.Is(err, bundle.ErrNone) {
		t.Errorf("no directory: %v", err)
	}
	for text, want := range map[string]string{
		"":                   "damaged",
		`{"format": 1, "ru`:  "damaged",
		`{"format": "1"}`:    "damaged",
		`{"format": 2}`:      "has form 2, and this program knows form 1: use the one that wrote it",
		`{}`:                 "has form 0",
		"\x1f\x8b\x08\x00ab": "damaged",
	} {
		if err := os.WriteFile(filepath.Join(dir, "bundle.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := bundle.Open(dir)
		_, also := bundle.Make(dir, first)
		if err == nil || also == nil || !strings.Contains(err.Error(), want) || err.Error() != also.Error() {
			t.Errorf("%q: %v, and Make: %v; want %q", text, err, also, want)
		}
		if data, _ := os.ReadFile(filepath.Join(dir, "bundle.json")); string(data) != text {
			t.Errorf("%q was changed into %q", text, data)
		}
	}
}

// A round that is not there is not the same as one that is damaged, and says which ones are there.
func TestNoSuchRound(t *testing.T) {
	b := makeBundle(t, t.TempDir())
	for rounds, want := range []string{"it has none yet", "it has round 1", "it has 2, from 1 to 2"} {
		if rounds > 0 {
			add(t, b, rounds)
		}
		if _, err := b.Load(9); !errors.Is(err, bundle.ErrNoRound) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("with %d: %v; want %q", rounds, err, want)
		}
	}
}

// A round that lacks something is no round.
func TestIncompleteRound(t *testing.T) {
	for name, c := range map[string]struct {
		change func(files map[string][]byte)
		want   string
	}{
		"no meta":         {func(f map[string][]byte) { delete(f, "meta.json") }, "there is no meta.json: the round did not come to its end"},
		"meta cut":        {func(f map[string][]byte) { f["meta.json"] = f["meta.json"][:40] }, "meta.json: "},
		"no records":      {func(f map[string][]byte) { delete(f, "controller.hist"); delete(f, "process-1.hist") }, "there are no records"},
		"a record's sum":  {func(f map[string][]byte) { f["controller.hist"][50] ^= 1 }, "controller.hist: record 1: a record is damaged"},
		"another's lock":  {func(f map[string][]byte) { f["meta.json"] = []byte(`{"locks": []}`) }, "there is no lock 0"},
		"nothing at all":  {func(f map[string][]byte) { clear(f) }, "there is no meta.json"},
		"meta of a thief": {func(f map[string][]byte) { f["meta.json"] = []byte("null") }, "there is no lock 0"},
	} {
		t.Run(name, func(t *testing.T) {
			files, _ := roundFiles(t, 1)
			c.change(files)
			b := makeBundle(t, t.TempDir())
			if err := b.Add(1, directory(t, files)); err != nil {
				t.Fatal(err)
			}
			if h, err := b.Load(1); h != nil || err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "round 1 of ") {
				t.Errorf("%v, %v; want %q", h, err, c.want)
			}
		})
	}
}

// Every byte of a round's file counts: one that is different, or missing, is seen, or has changed nothing.
func TestDamagedRound(t *testing.T) {
	b := makeBundle(t, t.TempDir())
	want := add(t, b, 1)
	whole, err := os.ReadFile(b.Name(1, "tgz"))
	if err != nil {
		t.Fatal(err)
	}
	harmless := 0
	expect := func(what string, at int, data []byte) {
		t.Helper()
		if err := os.WriteFile(b.Name(1, "tgz"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		switch h, err := b.Load(1); {
		case err == nil && reflect.DeepEqual(h, want):
			harmless++
		case err == nil:
			t.Errorf("%s %d of %d: it is another history now: %+v", what, at, len(whole), h)
		case !strings.Contains(err.Error(), "round 1 of ") || !strings.Contains(err.Error(), "damaged"):
			t.Errorf("%s %d: %v", what, at, err)
		}
	}
	for at := range whole {
		expect("cut before byte", at, whole[:at])
		for _, bit := range []byte{1, 16, 128} {
			damaged := append([]byte(nil), whole...)
			damaged[at] ^= bit
			expect("flipped byte", at, damaged)
		}
	}
	if harmless > 30 { // the head of gzip says who packed it and when, and nothing is lost with that
		t.Errorf("%d of all changes made no difference", harmless)
	}
	expect("not gzip", 0, []byte("something else"))
}
