package redlock

import (
	"math/bits"
	"slices"
	"testing"
	"time"
)

const allNodes = 9 // as many as are tried

// TestMajority: any two majorities meet, and no smaller number would do.
func TestMajority(t *testing.T) {
	for n := 1; n <= allNodes; n++ {
		q := majority(n)
		least := n // the fewest nodes that any two sets of a size have in common, for the greatest size below q
		for a := range 1 << n {
			if bits.OnesCount(uint(a)) != q {
				continue
			}
			for b := range 1 << n {
				if bits.OnesCount(uint(b)) == q && a&b == 0 {
					t.Fatalf("n=%d: majorities %b and %b of %d have no node in common", n, a, b, q)
				}
			}
		}
		for a := range 1 << n {
			for b := range 1 << n {
				if bits.OnesCount(uint(a)) == q-1 && bits.OnesCount(uint(b)) == q-1 {
					least = min(least, bits.OnesCount(uint(a&b)))
				}
			}
		}
		if q > 1 && least > 0 {
			t.Errorf("n=%d: %d would be enough", n, q-1)
		}
	}
}

// TestTally tries every order of answers: a decision is right whatever follows, and comes as soon as it can.
func TestTally(t *testing.T) {
	for n := 1; n <= allNodes; n++ {
		for yes := 0; yes <= n; yes++ {
			for no := 0; yes+no <= n; no++ {
				got := tally{n, yes, no}
				open := n - yes - no
				canWin, canLose := yes+open >= majority(n), yes < majority(n)
				if got.won() != !canLose {
					t.Errorf("%+v: won %v", got, got.won())
				}
				if got.lost() != !canWin {
					t.Errorf("%+v: lost %v", got, got.lost())
				}
				if open == 0 && got.won() == got.lost() {
					t.Errorf("%+v: everybody has answered, and nothing is decided, or both", got)
				}
			}
		}
	}
}

// TestValidity: never more than what is left by every node's clock, and a tenth at least.
func TestValidity(t *testing.T) {
	for _, ttl := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second, time.Hour, 24 * time.Hour} {
		for elapsed := time.Duration(0); elapsed <= 2*ttl; elapsed += ttl / 50 {
			left, ok := validity(ttl, elapsed)
			if left != ttl-elapsed-ttl/100-2*time.Millisecond {
				t.Errorf("ttl %v, elapsed %v: %v left", ttl, elapsed, left)
			}
			if ok != (left*10 >= ttl) {
				t.Errorf("ttl %v, elapsed %v: %v left, ok %v", ttl, elapsed, left, ok)
			}
		}
	}
}

func TestNodeTimeout(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		10 * time.Millisecond: 5 * time.Millisecond, time.Second: 5 * time.Millisecond, 2 * time.Second: 10 * time.Millisecond,
		10 * time.Second: 50 * time.Millisecond, time.Hour: 50 * time.Millisecond,
	} {
		if got := nodeTimeout(ttl); got != want {
			t.Errorf("%v: %v, not %v", ttl, got, want)
		}
	}
}

// TestFreeIn compares with a count, moment by moment.
func TestFreeIn(t *testing.T) {
	const never = 5
	for n := 1; n <= 5; n++ {
		each := make([]time.Duration, 0, n)
		var try func(answered int)
		try = func(answered int) {
			if len(each) < answered {
				for d := range time.Duration(never + 1) {
					each = append(each, d)
					try(answered)
					each = each[:len(each)-1]
				}
				return
			}
			want := time.Duration(0)
			for ; want < never; want++ {
				free := n - len(each)
				for _, d := range each {
					if d <= want {
						free++
					}
				}
				if free >= majority(n) {
					break
				}
			}
			if got := freeIn(n, each, never); got != want {
				t.Fatalf("n=%d, taken for %v: free in %d, not %d", n, each, got, want)
			}
		}
		for answered := 0; answered <= n; answered++ {
			try(answered)
		}
	}
}

// TestNextToken: over all pairs of majorities, the second hold's token is greater than the first's, if every node remembers, or has a clock
// that is past what it forgot.
func TestNextToken(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for first := range 1 << n {
			for second := range 1 << n {
				if bits.OnesCount(uint(first)) < majority(n) || bits.OnesCount(uint(second)) < majority(n) {
					continue
				}
				for forgets := range 1 << n {
					checkTokens(t, n, first, second, forgets)
				}
			}
		}
	}
}

func checkTokens(t *testing.T, n, first, second, forgets int) {
	t.Helper()
	const now, guard = 1000, 100
	var votes []vote
	for i := range n {
		if first>>i&1 == 1 {
			votes = append(votes, vote{clock: now + uint64(i)*guard/10}) // clocks that differ by less than the guard
		}
	}
	token := nextToken(votes)
	votes = votes[:0]
	for i := range n {
		v := vote{clock: now + 1} // nothing but what they have accepted helps
		if first>>i&1 == 1 {
			v.taken = token
		}
		if forgets>>i&1 == 1 {
			v = vote{clock: now + guard}
		}
		if second>>i&1 == 1 {
			votes = append(votes, v)
		}
	}
	if next := nextToken(votes); next <= token {
		t.Fatalf("n=%d: the majority %b got token %d, then %b got %d; %b had forgotten", n, first, token, second, next, forgets)
	}
}

func TestStrayed(t *testing.T) {
	for _, c := range []struct {
		offsets []time.Duration
		want    []bool
	}{
		{[]time.Duration{0}, []bool{false}},
		{[]time.Duration{60}, []bool{false}}, // of one clock nobody can say, and one server has one
		{[]time.Duration{0, 60}, []bool{false, true}},
		{[]time.Duration{-60, 0}, []bool{true, false}},
		{[]time.Duration{60, 61}, []bool{false, false}}, // two against one: it is ours that is behind
		{[]time.Duration{0, 1, 60}, []bool{false, false, true}},
		{[]time.Duration{60, 61, 0}, []bool{false, false, true}},
		{[]time.Duration{0, 10, -10, 11, -11}, []bool{false, false, false, true, true}},
		{[]time.Duration{60, 60, 0, 0}, []bool{true, true, false, false}}, // ours decides
	} {
		if got := strayed(c.offsets, 10); !slices.Equal(got, c.want) {
			t.Errorf("%d: %v, not %v", c.offsets, got, c.want)
		}
	}
}
