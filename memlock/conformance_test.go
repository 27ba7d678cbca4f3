package memlock_test

import (
	"context"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest"
	"holdfast.dev/memlock"
)

// TestConformance is the whole test that a driver needs. Other processes cannot reach memory, so there is one server for all
// clients of this one.
func TestConformance(t *testing.T) {
	server := memlock.NewServer()
	locktest.Run(t, locktest.Harness{
		Open:      func(context.Context, string) (driver.Store, error) { return server.Connect(), nil },
		InProcess: true,
	})
}
