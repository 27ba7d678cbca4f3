package program

import (
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// What only some stores show, in words.
func TestGuardedAndNameless(t *testing.T) {
	info := &holdfast.Info{Name: "x", Mode: holdfast.Exclusive, Guard: 12 * time.Second, Waiters: []driver.Waiter{{Mode: holdfast.Shared}}}
	table := new(table)
	addInfo(table, info)
	if got, want := strings.Join(table.rows[0], "|"), "x|—|(nobody) (nothing is granted for 12s)|—|—|—|1"; got != want {
		t.Errorf("ls: %s, want %s", got, want)
	}
	var b strings.Builder
	describe(&b, "lock", "x", info)
	want := `lock "x" is not held, 1 waiting
  the store has just begun to serve; locks granted before may still be valid: nothing is granted for another 12s
  WAITER             WANTS   FOR  PLACE
  (without a label)  shared  0s   1
`
	if b.String() != want {
		t.Errorf("inspect:\n%s\nwant\n%s", b.String(), want)
	}
	if got := asJSON(info); got.Guard != 12 || len(got.Waiters) != 1 || got.Holders == nil {
		t.Errorf("--json: %+v", got)
	}
}

func TestOutcomeOfABreak(t *testing.T) {
	kept := holdfast.Holder{Kept: true, Left: time.Minute, Token: 7}
	for _, c := range []struct {
		now     bool
		holders []holdfast.Holder
		want    string
	}{
		{false, nil, `told the holder of the lock "x" to end`}, // it was not there when we looked
		{true, nil, `freed the lock "x" at once`},
		{false, []holdfast.Holder{kept}, `broke the hold of the lock "x"; it stays taken until its minimum hold is over, in 1m00s; add --now to free it at once`},
		{false, []holdfast.Holder{{Label: "a", Left: time.Second}, {Label: "b", Left: time.Minute}}, `told the holder of the lock "x" to end: a, b
It is not renewed any more: the lock is free when the holder lets go, in 1m00s at the latest.`},
	} {
		if got := outcome("lock", "x", c.now, c.holders); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got := instead("lock", "x", 7, &holdfast.Info{Holders: []holdfast.Holder{kept}}, nil); got != "it ended just now" {
		t.Errorf("it was there when we looked, but %s", got)
	}
}
