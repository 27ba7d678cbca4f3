package redlock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
)

// unreached is a store whose nodes cannot be reached: a test says what they answer.
func unreached(t *testing.T, n int) *Store {
	t.Helper()
	var nodes []*node
	for i := range n {
		nodes = append(nodes, &node{name: string(rune('a' + i)), dial: func(context.Context) (rueidis.Client, error) { return nil, errors.New("nobody is there") }})
	}
	s := newStore(nodes, true, newConfig(nil))
	t.Cleanup(func() { s.Close() })
	return s
}

// begun is a try that has asked its nodes, none of which has answered.
func begun(s *Store) *try {
	t := s.newTry(&attempt{question: question{keys: s.keys.of("x")}}, time.Minute, 1, nil)
	t.asked = s.clock.Now()
	return t
}

func granted(clock uint64) answer { return answer{word: done, vote: vote{clock: clock}} }

// TestLateVotesDoNotCount: a node that votes when the token is decided on gets it, but is no part of the majority that accepts it: its own tokens and
// its clock are not in it.
func TestLateVotesDoNotCount(t *testing.T) {
	s := unreached(t, 5)
	one := begun(s)
	one.mu.Lock()
	defer one.mu.Unlock()
	now := uint64(time.Now().UnixMicro())
	for i := range 3 {
		one.voted(i, granted(now+uint64(i)))
	}
	if one.phase != taking || one.token != now+3 {
		t.Fatalf("phase %v, token %d after a majority", one.phase, one.token-now)
	}
	one.voted(3, granted(now+1000))
	one.voted(4, granted(now+1000))
	for i := range 5 {
		if i != 1 {
			one.tookIt(i, answer{word: done})
		}
	}
	if one.phase != taking {
		t.Fatalf("phase %v: four have accepted the token, but one whose vote is in it has not", one.phase)
	}
	one.tookIt(1, answer{word: gone})
	if one.phase != over || one.lost == nil {
		t.Fatalf("phase %v, %v", one.phase, one.lost)
	}
}

// TestHeldThoughSilent: a majority that says who has it is the answer, whoever does not answer.
func TestHeldThoughSilent(t *testing.T) {
	s := unreached(t, 5)
	one := begun(s)
	one.mu.Lock()
	defer one.mu.Unlock()
	somebody := answer{word: held, mark: "m", left: time.Second, holder: &driver.Holder{Label: "x", Token: 7, Left: time.Second}}
	one.voted(0, granted(1))
	one.voted(1, somebody)
	one.voted(2, somebody)
	if one.phase != voting {
		t.Fatal("two of five are no majority")
	}
	one.voted(4, somebody)
	var h *driver.Held
	if one.phase != over || !errors.As(one.lost, &h) || len(h.Holders) != 1 || h.Holders[0].Token != 7 || h.RetryIn != time.Second {
		t.Fatalf("phase %v, %v", one.phase, one.lost)
	}
}

// TestUnknown: nobody has a majority, and too few answer to say why.
func TestUnknown(t *testing.T) {
	s := unreached(t, 5)
	one := begun(s)
	one.mu.Lock()
	defer one.mu.Unlock()
	for i := range 3 {
		one.voted(i, answer{err: &timeoutError{time.Second}})
	}
	one.voted(3, answer{word: held, mark: "m", holder: &driver.Holder{}})
	if one.phase != voting {
		t.Fatal("the last may know more")
	}
	one.voted(4, granted(1))
	var e *NodesError
	if one.phase != over || !errors.As(one.lost, &e) || driver.Answered(one.lost) {
		t.Fatalf("phase %v, %v", one.phase, one.lost)
	}
	if text := e.Error(); text != `1 of 5 nodes said yes, 3 are needed (a: no answer within 1s; b: no answer within 1s; c: no answer within 1s; d: held by "someone without a label" (without a token); e: granted)` {
		t.Error(text)
	}
}

// TestStrayClocksOnly: a majority of which no clock can be trusted gets no token.
func TestStrayClocksOnly(t *testing.T) {
	s := unreached(t, 3)
	one := begun(s)
	one.mu.Lock()
	defer one.mu.Unlock()
	now := uint64(time.Now().UnixMicro())
	hour := uint64(time.Hour.Microseconds())
	s.heard(s.nodes[1], answer{vote: vote{clock: now}}) // it was well when it was last heard of
	one.voted(0, granted(now+hour))
	one.voted(2, granted(now-hour))
	if one.phase != over || !errors.Is(one.lost, ErrClocks) {
		t.Fatalf("phase %v, token %d, %v", one.phase, one.token, one.lost)
	}
}

// TestUnknownClocks: of five nodes two are far behind, and two have not been heard of. What the fifth says counts: the middle is not that of the two.
func TestUnknownClocks(t *testing.T) {
	s := unreached(t, 5)
	one := begun(s)
	one.mu.Lock()
	defer one.mu.Unlock()
	now := uint64(time.Now().UnixMicro())
	hour := uint64(time.Hour.Microseconds())
	one.voted(3, granted(now-hour))
	one.voted(4, granted(now-hour))
	one.voted(0, granted(now))
	if one.phase != taking || one.token != now+1 {
		t.Fatalf("phase %v, token %d, which is %d beyond the clock that is right", one.phase, one.token, int64(one.token-now))
	}
}

// TestReleasedBeforeItBegan: a release that comes between the making of a try and its votes ends it: nothing is sent any more.
func TestReleasedBeforeItBegan(t *testing.T) {
	s := unreached(t, 3)
	r := &driver.Request{Name: "x", Attempt: driver.NewAttempts().Next(), Mode: driver.Exclusive, TTL: time.Minute}
	one := s.next(s.join(r), time.Minute, nil)
	if err := s.Release(t.Context(), r); err != nil && !driver.Answered(err) {
		t.Fatal(err)
	}
	one.start()
	if at, any := one.mayHave(); any {
		t.Errorf("something was sent after the release, to %v", at)
	}
}

// TestSplitThoughSilent: a node has granted, another one has somebody else's vote, and the third is silent: a majority has answered. That is no failure of
// the store, but somebody who was faster.
func TestSplitThoughSilent(t *testing.T) {
	one := begun(unreached(t, 3))
	one.mu.Lock()
	defer one.mu.Unlock()
	one.voted(0, granted(1))
	one.voted(1, answer{word: held, voting: true, mark: "m", holder: &driver.Holder{}})
	one.voted(2, answer{err: &timeoutError{time.Second}})
	if _, isHeld := one.lost.(*driver.Held); one.phase != over || !isHeld || !one.split {
		t.Fatalf("phase %v, split %v, %v", one.phase, one.split, one.lost)
	}
}
