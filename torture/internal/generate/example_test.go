package generate_test

import (
	"fmt"

	"holdfast.dev/torture/internal/generate"
)

func ExampleGood() {
	h := generate.Good(42, generate.Options{Operations: 100, Workers: 8})
	attempts, err := h.Attempts()
	if err != nil {
		panic(err)
	}
	fmt.Println(h.Meta.Store, len(h.Meta.Locks), "locks", len(attempts) > 80)
	// Output: generated 10 locks true
}
