package judge

import "holdfast.dev/torture/internal/history"

func (v *Verdict) addLinear(*history.History) error { return nil }
