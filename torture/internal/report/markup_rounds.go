package report

import _ "embed"

var (
	//go:embed web/rounds.html
	roundsHTML string
	//go:embed web/round.html
	roundHTML string
)

// rounds writes the pictures, empty: the script fills them.
func (m *markup) rounds(all []viewedRound) {
	if len(all) == 0 {
		return
	}
	m.WriteString(roundsHTML)
	for _, r := range all {
		open := plain("")
		if r.Open {
			open = " open"
		}
		m.add(roundHTML, r.Anchor, open, r.Summary, r.Index, r.Label)
	}
	m.add("<div id=\"tip\" role=\"tooltip\" hidden></div>\n</section>\n")
}
