package choose

import (
	"slices"
	"strings"
	"testing"
)

func TestNamed(t *testing.T) {
	all := []string{"a", "b", "c"}
	name := func(s string) string { return s }
	for _, tt := range []struct{ names, want string }{{"", "a b c"}, {"c, a", "a c"}, {"b", "b"}} {
		if got, err := Named("letter", all, name, Split(tt.names)); err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%q: %v, %v; want %s", tt.names, got, err, tt.want)
		}
	}
	if got, err := Named("letter", all, name, []string{"a", "d"}); err == nil || err.Error() != `no letter is named "d"; there are a, b, c` {
		t.Errorf("%v, %v", got, err)
	}
}

func TestSplit(t *testing.T) {
	if got := Split(" a,b , c"); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("%q", got)
	}
}
