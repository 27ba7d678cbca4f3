package driver

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestAttemptHidesItsID(t *testing.T) {
	source := NewAttempts()
	attempt := source.Next()
	raw, err := hex.DecodeString(attempt.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	client := string(raw[:16]) // the number behind it is no secret
	hides(t, attempt, client, attempt.Reveal()[:32])
	hides(t, map[Attempt]bool{attempt: true}, client, attempt.Reveal()[:32])
	hides(t, source, client, attempt.Reveal()[:32])
	hides(t, Request{Name: "a", Attempt: attempt}, client, attempt.Reveal()[:32])
	for _, format := range []string{"%v", "%+v", "%#v", "%q", "%x", "%d", "%s", "%t"} {
		if got := fmt.Sprintf(format, attempt); got != hidden {
			t.Errorf("%s prints %q, want %q", format, got, hidden)
		}
	}
	if got, err := json.Marshal(attempt); string(got) != `"[secret]"` || err != nil {
		t.Errorf("json: %s, %v", got, err)
	}
}

func TestAttemptRoundTrip(t *testing.T) {
	source := NewAttempts()
	for range 1000 {
		attempt := source.Next()
		text := attempt.Reveal()
		if len(text) != 48 || strings.Trim(text, digits) != "" {
			t.Fatalf("Reveal is not 48 lower-case hexadecimal digits, but %d bytes", len(text))
		}
		if again, err := ParseAttempt(text); again != attempt || err != nil {
			t.Fatalf("ParseAttempt(Reveal) is another attempt, or %v", err)
		}
	}
	if again, err := ParseAttempt(Attempt{}.Reveal()); again != (Attempt{}) || err != nil {
		t.Errorf("the zero attempt does not survive: %v", err)
	}
	if got := (Attempt{}).Reveal(); got != strings.Repeat("0", 48) {
		t.Errorf("the zero attempt reveals %q: is that the mask?", got)
	}
	// What another process wrote is read as it is.
	const foreign = "00112233445566778899aabbccddeeff0000000000000007"
	if attempt, err := ParseAttempt(foreign); attempt.Reveal() != foreign || err != nil {
		t.Errorf("%s is read as %s, %v", foreign, attempt.Reveal(), err)
	}
}

func TestParseAttemptRefuses(t *testing.T) {
	good := NewAttempts().Next().Reveal()
	for _, text := range []string{"", "x", good[:46], good + "00", good[:47] + "g", " " + good[1:], hidden} {
		attempt, err := ParseAttempt(text)
		if !errors.Is(err, ErrRequest) || attempt != (Attempt{}) {
			t.Errorf("a text of %d bytes is read, error %v", len(text), err)
		}
		if err != nil && len(text) > 1 && strings.Contains(err.Error(), text) {
			t.Errorf("the error repeats the text: %v", err)
		}
	}
}

func TestAttemptsNeverRepeat(t *testing.T) {
	const sources, workers, each = 4, 4, 500
	var mu sync.Mutex
	seen := make(map[string]bool)
	clients := make(map[string]bool)
	var group sync.WaitGroup
	for range sources {
		source := NewAttempts()
		for range workers {
			group.Go(func() {
				for range each {
					id := source.Next().Reveal()
					mu.Lock()
					seen[id], clients[id[:32]] = true, true
					mu.Unlock()
				}
			})
		}
	}
	group.Wait()
	if len(seen) != sources*workers*each || len(clients) != sources {
		t.Errorf("%d different ids of %d, %d different clients of %d", len(seen), sources*workers*each, len(clients), sources)
	}
}
