package generate_test

import (
	"slices"
	"testing"
	"time"

	"holdfast.dev/torture/internal/generate"
	"holdfast.dev/torture/internal/history"
)

// The kinds of rounds that there are.
var kinds = map[string]generate.Options{
	"within":            {},
	"none":              {Class: "none"},
	"beyond":            {Class: "beyond"},
	"files":             {NoExpiry: true},
	"files beyond":      {NoExpiry: true, Class: "beyond"},
	"without tokens":    {Unfenced: true},
	"files, no tokens":  {Unfenced: true, NoExpiry: true},
	"few, short leases": {Workers: 8, TTL: 500 * time.Millisecond},
}

func TestEqualSeedsMakeEqualHistories(t *testing.T) {
	for name, o := range kinds {
		a, b, c := generate.Good(7, o), generate.Good(7, o), generate.Good(8, o)
		if !slices.Equal(a.Records, b.Records) {
			t.Errorf("%s: one seed made two histories", name)
		}
		if slices.Equal(a.Records, c.Records) {
			t.Errorf("%s: two seeds made one history", name)
		}
	}
}

func TestAsManyOperationsAsAskedFor(t *testing.T) {
	h := generate.Good(1, generate.Options{Operations: 1234})
	n := 0
	for _, r := range h.Records {
		if r.Phase == history.Asked && (r.Op == history.Acquire || r.Op == history.Inspect) {
			n++
		}
	}
	if n != 1234 {
		t.Errorf("%d operations, 1234 were asked for", n)
	}
}
