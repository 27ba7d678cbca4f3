package readme

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast.dev/cmd/holdfast/internal/exit"
)

// Rule: the README names every code that the program has of its own, and no other.
func TestExitCodesAreNamed(t *testing.T) {
	raw, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(raw), "\n| code | means |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if !found {
		t.Fatal("there is no table of codes")
	}
	var named []int
	for line := range strings.Lines(table) {
		code, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, digits := range regexp.MustCompile(`\b\d+\b`).FindAllString(strings.ReplaceAll(code, "128+n", ""), -1) {
			n, err := strconv.Atoi(digits)
			if err != nil {
				t.Fatal(err)
			}
			named = append(named, n)
		}
	}
	slices.Sort(named)
	want := []int{exit.NotGot, exit.Usage, exit.Unavailable, exit.System, exit.Lost, exit.CannotRun, exit.NotFound}
	if !slices.Equal(named, want) {
		t.Errorf("the README names %v, want %v", named, want)
	}
}
