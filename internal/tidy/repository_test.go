package tidy_test

import (
	"os"
	"testing"

	"holdfast.dev/internal/tidy"
)

// maySleep lists the functions of tests that may call time.Sleep in real time, and why. Think twice: a condition is better.
var maySleep = map[string]string{
	"driver/clock_boot_test.go:TestBootRunsLikeTimeWhileAwake": "the kernel's clock cannot be faked; only lower bounds depend on the sleep",
	"driver/clock_boot_test.go:until":                          "a millisecond between two looks at a condition",
	"locktest/child.go:raise":                                  "the work of a process that others must not come between; nothing waits for it",
	"locktest/netfault/storm_test.go:TestStorm":                "the pace of random faults on real connections; nothing is asserted about it",
	"memlock/bench_test.go:inspect":                            "a millisecond between two looks at a condition",
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
