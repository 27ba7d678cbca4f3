//go:build unix

package run

import (
	"slices"
	"strings"
	"testing"

	"holdfast.dev/cmd/holdfast/internal/group"
	"holdfast.dev/cmd/holdfast/internal/guard"
)

// What a run writes into HOLDFAST_HELD, an inner one reads, whatever the labels and names are.
func TestHeldIsReadAsWritten(t *testing.T) {
	held := []outer{
		{token: 7, label: "host:1 a label", name: "orders/42"},
		{token: 1<<64 - 1, permits: true, label: `quotes " and \ and ünïcode`, name: ` name with spaces "`},
		{token: 0, label: "", name: "x"},
	}
	t.Setenv(heldVariable, encodeHeld(held))
	if got := around(); !slices.Equal(got, held) {
		t.Errorf("got %+v\nwant %+v", got, held)
	}
}

// What is not written like that is passed over: the variable may be anybody's.
func TestHeldOfSomebodyElse(t *testing.T) {
	t.Setenv(heldVariable, strings.Join([]string{
		"", "nonsense", "x lock \"l\" n", "1 lock unquoted n", "1 lock \"l\"n", "1 lock \"l\"", "-1 lock \"l\" n",
		`2 lock "good" name`,
	}, "\n"))
	want := []outer{{token: 2, label: "good", name: "name"}}
	if got := around(); !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// Runs are named from the outermost to the innermost.
func TestRunsWith(t *testing.T) {
	id := guard.ID{1}
	t.Setenv(group.MarkVariable, "")
	if got := runsWith(id); got != id.String() {
		t.Errorf("the outermost is called %q", got)
	}
	t.Setenv(group.MarkVariable, "a/b")
	if got := runsWith(id); got != "a/b/"+id.String() {
		t.Errorf("an inner one is called %q", got)
	}
}

// A name that is given twice is one lock, where it stood first.
func TestNames(t *testing.T) {
	p := Plan{Names: []string{"b", "a", "b", "c", "a"}}
	if got := p.names(); !slices.Equal(got, []string{"b", "a", "c"}) {
		t.Errorf("got %q", got)
	}
}
