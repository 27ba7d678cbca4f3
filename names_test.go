package holdfast_test

import (
	"context"
	"strings"
	"testing"

	"holdfast.dev"
)

// Rule (names): anything but 1 to 512 bytes of valid UTF-8 without control characters is ErrName before the store is touched, by
// whatever method it is given.
func TestBadNames(t *testing.T) {
	for what, c := range map[string]struct{ name, says string }{
		"empty":             {"", "1 to 512 bytes"},
		"overlong":          {strings.Repeat("x", 513), "513 bytes, 512 are allowed"},
		"control character": {"a\nb", "U+000A at byte 1"},
		"C1 control":        {"a\u0085", "U+0085"},
		"delete":            {"\x7f", "U+007F"},
		"not UTF-8":         {"a\xff", "UTF-8"},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScript()
			locks := s.open(t)
			_, err := locks.Mutex(c.name).Lock(t.Context())
			expect(t, err, holdfast.ErrName, c.says)
			_, err = locks.Mutex(c.name).TryLock(t.Context())
			expect(t, err, holdfast.ErrName, c.says)
			err = locks.Do(t.Context(), c.name, func(context.Context) error { t.Error("the function was run"); return nil })
			expect(t, err, holdfast.ErrName, c.says)
			_, err = locks.Inspect(t.Context(), c.name)
			expect(t, err, holdfast.ErrName, c.says)
			expect(t, locks.Break(t.Context(), c.name, 1), holdfast.ErrName, c.says)
			if calls := s.asked(); len(calls) > 0 {
				t.Errorf("the store was asked: %+v", calls)
			}
		})
	}
}

// Rule (names): what is allowed reaches the store as it is.
func TestGoodNames(t *testing.T) {
	for _, name := range []string{"a", "a/b", "A", "*", "../x", " ", "größe", strings.Repeat("x", 512), "\u200b"} {
		s := newScript()
		m := s.open(t).Mutex(name)
		hold := mustLock(t, m)
		if m.Name() != name || hold.Name() != name || s.asked("acquire")[0].name != name {
			t.Errorf("name %q: mutex %q, hold %q, store %q", name, m.Name(), hold.Name(), s.asked("acquire")[0].name)
		}
		mustUnlock(t, hold)
	}
}
