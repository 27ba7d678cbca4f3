package say

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestVoice(t *testing.T) {
	for _, c := range []struct {
		print func(v *Voice)
		want  string
	}{
		{func(v *Voice) { v.Printf("hello %s", "you") }, "holdfast: hello you\n"},
		{func(v *Voice) { v.Printf("ends\n\n") }, "holdfast: ends\n"},
		{func(v *Voice) { v.Printf("two\nlines") }, "holdfast: two\nlines\n"},
		{func(v *Voice) { v.Printf("%s", "a\nholdfast: forged") }, `holdfast: a\nholdfast: forged` + "\n"},
		{func(v *Voice) { v.Printf("%q", "a\nb\u202e\ufe0f") }, `holdfast: "a\nb\u202e\ufe0f"` + "\n"},
		{func(v *Voice) { v.Printf("%v", "\x1b[2J") }, `holdfast: \x1b[2J` + "\n"},
		{func(v *Voice) { v.Printf("%v", errors.New("holdfast: lock")) }, "holdfast: lock\n"},
		{func(v *Voice) { v.Printf("%v", fmt.Errorf("x: %w", errors.Join(errors.New("a"), errors.New("b")))) }, "holdfast: x: a; b\n"},
		{func(v *Voice) { v.Printf("%v", []string{"a\nb"}) }, `holdfast: [a\nb]` + "\n"},
		{func(v *Voice) { v.Printf("%*d|%-4s|%05.1f|%d", 4, 7, "a", 2.25, uint64(9)) }, "holdfast:    7|a   |002.2|9\n"},
		{func(v *Voice) { v.Text("a\x1b\nb\n") }, `a\x1b` + "\nb\n"},
		{func(v *Voice) { v.Notef("note %d", 1) }, "holdfast: note 1\n"},
		{func(v *Voice) { v.SetQuiet(true); v.Notef("note"); v.Printf("error") }, "holdfast: error\n"},
	} {
		var b strings.Builder
		c.print(New(&b))
		if b.String() != c.want {
			t.Errorf("printed %q, want %q", b.String(), c.want)
		}
	}
}

// A message takes the place of the status line; what is wiped is not wiped again.
func TestVoiceStatus(t *testing.T) {
	var b strings.Builder
	v := New(&b)
	expect := func(step, want string) {
		t.Helper()
		if b.String() != want {
			t.Errorf("%s: printed %q, want %q", step, b.String(), want)
		}
		b.Reset()
	}
	v.Status("", 0)
	expect("nothing to wipe", "")
	v.Status("waiting\nfor \x1b", 10)
	expect("status", "\rwaiting\\n…\x1b[K")
	v.Status("again", 10)
	expect("status again", "\ragain\x1b[K")
	v.Printf("message")
	expect("message", "\r\x1b[Kholdfast: message\n")
	v.Printf("message")
	expect("another", "holdfast: message\n")
	v.Status("again", 10)
	v.Status("", 0)
	expect("wiped", "\ragain\x1b[K\r\x1b[K")
	v.Status("", 0)
	expect("wiped before", "")
	v.Status("again", 10)
	v.Forget()
	v.Printf("message")
	expect("forgotten", "\ragain\x1b[Kholdfast: message\n")
	if _, ok := v.Terminal(); ok {
		t.Error("a text is a terminal")
	}
}
