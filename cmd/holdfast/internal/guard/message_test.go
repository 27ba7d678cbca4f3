package guard

import (
	"math"
	"testing"

	"holdfast.dev/driver"
)

// A message means the same at both ends, and has the size that is read.
func TestMessages(t *testing.T) {
	for _, m := range []message{
		{kind: begin, id: ID{0, 1, 2, 255, 15: 7}, value: 77},
		{kind: watch, value: 4242},
		{kind: until, value: int64(driver.Never)},
		{kind: until, value: math.MinInt64},
		{kind: leave},
		{kind: keep},
		{kind: pause, value: 4711},
		{kind: resume},
	} {
		encoded := m.encode()
		if len(encoded) != messageSize {
			t.Errorf("%+v takes %d bytes, want %d", m, len(encoded), messageSize)
		}
		if got := decode(encoded); got != m {
			t.Errorf("%+v came out as %+v", m, got)
		}
	}
	if got, want := (ID{0xab, 15: 1}).String(), "ab000000000000000000000000000001"; got != want {
		t.Errorf("an ID is written %q, want %q", got, want)
	}
}
