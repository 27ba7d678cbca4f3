package redisconn

import (
	"context"
	"testing"

	"github.com/redis/rueidis"
)

// TestOthersContext: the end of somebody else's context is not taken for the caller's own.
func TestOthersContext(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	c := adopt(rueidis.Client(nil))
	for _, err := range []error{context.Canceled, context.DeadlineExceeded} {
		if got := c.explained(context.Background(), rueidis.NewErrorResult(err)).Error(); got != errGivenUp {
			t.Errorf("somebody else's: %v", got)
		}
		if got := c.explained(ended, rueidis.NewErrorResult(err)).Error(); got != err {
			t.Errorf("its own: %v", got)
		}
	}
}
