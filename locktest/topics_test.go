package locktest

import (
	"regexp"
	"slices"
	"testing"
)

// TestEveryCaseNamesItsRule checks what the package comment promises of cases.
func TestEveryCaseNamesItsRule(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+$`)
	rule := regexp.MustCompile(`^((A[1-7]?|R[1-4]?|L[1-4]|B[1-3]?|K[1-5]|G|T[1-6]|O[1-6]|P[1-3]|N|C)(, )?)+: .|^the (life of an attempt|race of [a-z]+): .`)
	seen := make(map[string]bool)
	for _, topic := range slices.Concat(beside, alone) {
		if !name.MatchString(topic.name) || seen[topic.name] {
			t.Errorf("topic %q: its name is not one word, or used twice", topic.name)
		}
		seen[topic.name] = true
		for _, c := range topic.cases {
			full := topic.name + "/" + c.name
			if !name.MatchString(c.name) || seen[full] {
				t.Errorf("case %s: its name is not one word, or used twice", full)
			}
			seen[full] = true
			if !rule.MatchString(c.rule) {
				t.Errorf("case %s: its rule does not begin with the rule's name: %q", full, c.rule)
			}
			if c.run == nil {
				t.Errorf("case %s does nothing", full)
			}
		}
	}
}
