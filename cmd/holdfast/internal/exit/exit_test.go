package exit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"holdfast.dev"
)

func TestCode(t *testing.T) {
	store := func(err error) error { return &holdfast.StoreError{Op: "lock", Store: "x", Err: err} }
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{Usagef("wrong: %d", 1), 64},
		{fmt.Errorf("run: %w", Usagef("wrong")), 64},
		{&holdfast.HeldError{Name: "x"}, 1},
		{&holdfast.HeldError{Name: "x", Err: context.DeadlineExceeded}, 1},
		{holdfast.ErrNotHeld, 1},
		{holdfast.ErrDeadlock, 1},
		{context.DeadlineExceeded, 1},
		{context.Canceled, 1},
		{holdfast.ErrURL, 64},
		{holdfast.ErrName, 64},
		{holdfast.ErrTTL, 64},
		{holdfast.ErrArgument, 64},
		{store(holdfast.ErrUnsupported), 64},
		{&holdfast.RequirementError{}, 64},
		{&holdfast.LimitError{N: 1, Want: 2, Have: 3}, 64},
		{&holdfast.GuardedError{Err: context.DeadlineExceeded}, 69},
		{store(errors.New("refused")), 69},
		{store(context.DeadlineExceeded), 69},
		{errors.New("anything"), 69},
		{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: errors.New("no space")}, 71},
		{store(&fs.PathError{Op: "open", Path: "/dir", Err: errors.New("no space")}), 69},
		{&holdfast.LostError{Name: "x"}, 75},
		{errors.Join(store(errors.New("gone")), &holdfast.LostError{Name: "x"}), 75},
	} {
		if got := Code(c.err); got != c.want {
			t.Errorf("Code(%v) = %d, want %d", c.err, got, c.want)
		}
	}
	if Signal(2) != 130 || Usagef("a %s", "b").Error() != "a b" {
		t.Error("Signal or Usagef")
	}
}
