package redlock_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"holdfast.dev/redislock/redlock"
)

// ballots are the texts that had a number. A number that was released stands for one text, for ever.
var ballots = map[string]string{
	"holdfast_redlock_1": "e8b869e68924e228b68edc3379b9ee7d4fcf369f1fab460dfe786e4fc9b95a1a",
}

// Servers may have the library of a released program: under the same number they would be taken for the same. So whoever changes ballot.lua or
// guard.lua gives it another number.
func TestBallotsHaveTheirNumber(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(redlock.Code)))
	if ballots[redlock.Library] != sum {
		t.Errorf("ballot.lua or guard.lua has changed: the sum of their text is\n%s, and that of %s was\n%q.\n"+
			"If that was released, raise the number (ballot.go) and add a line to ballots; if it was not, put the new sum into its line.",
			sum, redlock.Library, ballots[redlock.Library])
	}
}
