package redlock

import (
	"slices"
	"testing"
)

// TestWarnings: an even number of nodes is told, an odd one is not.
func TestWarnings(t *testing.T) {
	even := map[int]string{
		2: "the number of nodes is even: of 2 no more may be lost than of 1, none either way; add one, or leave one out",
		4: "the number of nodes is even: of 4 no more may be lost than of 3, 1 either way; add one, or leave one out",
		6: "the number of nodes is even: of 6 no more may be lost than of 5, 2 either way; add one, or leave one out",
	}
	for n := range 8 {
		var want []string
		if text := even[n]; text != "" {
			want = []string{text}
		}
		if got := unreached(t, n).Warnings(); !slices.Equal(got, want) {
			t.Errorf("%d nodes: %q, want %q", n, got, want)
		}
	}
}
