package scenario

import (
	"strings"
	"testing"
)

// TestMajorities: every scenario is there near and far, and what it is compared with comes before it.
func TestMajorities(t *testing.T) {
	names := make(map[string]Scenario)
	for _, s := range Majorities() {
		if _, twice := names[s.Name]; twice {
			t.Errorf("%s is there twice", s.Name)
		}
		names[s.Name] = s
		if s.Stopped != (s.Healthy != "") {
			t.Errorf("%s: stopped %v, and compared with %q", s.Name, s.Stopped, s.Healthy)
		}
		if well, ok := names[s.Healthy]; s.Stopped && (!ok || well.Stopped || well.Nodes != s.Nodes || well.Far != s.Far || well.Goroutines != s.Goroutines) {
			t.Errorf("%s is compared with %+v", s.Name, well)
		}
		if s.Times < 1 || s.Clients < 1 || s.Locks < 1 || s.Nodes < 1 {
			t.Errorf("%+v", s)
		}
	}
	for name, s := range names {
		if (s.Far > 0) != strings.HasSuffix(name, "-far") {
			t.Errorf("%s is %v away", name, s.Far)
		}
		if _, ok := names[name+"-far"]; s.Far == 0 && !ok {
			t.Errorf("there is no %s-far", name)
		}
	}
	for _, kind := range []string{"solo", "apart", "crowd-1ms"} {
		for _, nodes := range Fleets {
			if s, ok := names[Of(kind, nodes, true)]; !ok || s.Nodes != nodes {
				t.Errorf("%s on %d nodes is %+v", kind, nodes, s)
			}
		}
	}
}
