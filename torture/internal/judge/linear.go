package judge

import (
	"bytes"
	"cmp"
	"slices"

	"holdfast.dev/torture/internal/check"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/linear"
)

// addLinear adds checker 4: violations, also to the rows of the faults that they name, and its page if there are any.
func (v *Verdict) addLinear(h *history.History) error {
	result, err := linear.Check(h, patience)
	if err != nil || len(result.Violations) == 0 {
		return err
	}
	v.Violations = append(v.Violations, first(result.Violations)...)
	for _, found := range result.Violations {
		i := slices.IndexFunc(v.Rows, func(row check.Row) bool { return row.Fault == cmp.Or(found.Fault, check.NoFault) })
		if i >= 0 {
			v.Rows[i].Violations++
		}
	}
	var page bytes.Buffer
	err = result.Visual(&page)
	v.Page = page.Bytes()
	return err
}
