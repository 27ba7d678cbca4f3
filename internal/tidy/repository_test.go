package tidy_test

import (
	"os"
	"testing"

	"holdfast.dev/internal/tidy"
)

// maySleep lists the functions of tests that may call time.Sleep in real time, and why. Think twice: a condition is better.
var maySleep = map[string]string{
	"driver/clock_boot_test.go:TestBootRunsLikeTimeWhileAwake":          "the kernel's clock cannot be faked; what is asserted holds however long it sleeps",
	"locktest/child.go:raise":                                           "the work of a process that others must not come between; nothing waits for it",
	"locktest/exclusion.go:yield":                                       "makes room for others to break in while the lock is held; nothing waits for it",
	"locktest/remote/confirm_test.go:TestContextEndsWhileConfirming":    "a wait over a real connection has to become long; longer does no harm",
	"locktest/remote/confirm_test.go:TestGrantAfterLongWaitIsConfirmed": "a wait over a real connection has to become long; longer does no harm",
	"locktest/remote/confirm_test.go:TestSlowAnswerIsNotAskedForAgain":  "an answer over a real connection has to become slow; slower does no harm",
	"locktest/netfault/storm_test.go:TestStorm":                         "the pace of random faults on real connections; nothing is asserted about it",
	"locktest/renewal.go:manyAreRenewed":                                "a real store's TTL has to pass; a longer sleep does no harm",
	"locktest/renewal.go:renewedOverManyTTLs":                           "a real store's TTLs have to pass; longer sleeps do no harm",
	"memlock/stress_test.go:TestStressExpiry":                           "the pace of renewals that race with expiry; either may win",
}

// TestRepository runs every rule on this repository.
func TestRepository(t *testing.T) {
	tree, err := tidy.Read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Go) < 10 {
		t.Fatalf("only %d Go files were found: is this the root of the repository?", len(tree.Go))
	}
	for _, rule := range tidy.Rules(maySleep) {
		t.Run(rule.Name, func(t *testing.T) {
			for _, f := range rule.Check(tree) {
				t.Errorf("%v (%s)", f, rule.Why)
			}
		})
	}
}
