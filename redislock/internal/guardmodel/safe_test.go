package guardmodel

import "testing"

// TestGuardHolds looks at every state of every deployment that the guard is for: nowhere are there two holders.
func TestGuardHolds(t *testing.T) {
	for _, c := range safes {
		t.Run(c.name, func(t *testing.T) {
			skipUnless(t, c.size)
			if c.size != big { // big ones need the memory for themselves
				t.Parallel()
			}
			m := Model{Setup: c.setup, Rules: AllRules(), Faults: c.faults}
			r := m.Explore(limit)
			t.Log(r)
			if r.Trace != nil {
				t.Errorf("two holders:%s", list(r.Trace))
			} else if !r.Complete {
				t.Error("not complete: what was not looked at proves nothing; raise the limit or lower the faults")
			}
		})
	}
}

func list(trace []Move) string {
	text := ""
	for _, v := range trace {
		text += "\n\t" + v.String()
	}
	return text
}
