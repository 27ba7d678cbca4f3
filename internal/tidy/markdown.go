package tidy

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	inlineLink    = regexp.MustCompile(`\]\(<?([^)>\s]+)>?(?:\s+"[^"]*")?\)`)
	referenceLink = regexp.MustCompile(`^\s{0,3}\[[^\]]+\]:\s+<?([^>\s]+)>?`)
	inlineCode    = regexp.MustCompile("`[^`]*`")
	withScheme    = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]*:|//)`)
	heading       = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
)

func checkLinks(t *Tree) []Finding {
	var findings []Finding
	for _, p := range slices.Sorted(maps.Keys(t.Text)) {
		if !strings.HasSuffix(p, ".md") {
			continue
		}
		for n, line := range prose(t.Text[p]) {
			for _, target := range linksIn(line) {
				if problem := t.follow(p, target); problem != "" {
					findings = append(findings, Finding{p, n, fmt.Sprintf("link to %s: %s", target, problem)})
				}
			}
		}
	}
	return findings
}

// prose yields the lines of a Markdown text outside of fenced code, with their numbers.
func prose(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		n, fence := 0, ""
		for line := range strings.Lines(text) {
			n++
			line = strings.TrimRight(line, "\r\n")
			trimmed := strings.TrimSpace(line)
			switch {
			case fence != "":
				if strings.HasPrefix(trimmed, fence) {
					fence = ""
				}
			case strings.HasPrefix(trimmed, "```"):
				fence = "```"
			case strings.HasPrefix(trimmed, "~~~"):
				fence = "~~~"
			case !yield(n, line):
				return
			}
		}
	}
}

// linksIn returns the targets of a line's links, those on the web left out.
func linksIn(line string) []string {
	line = inlineCode.ReplaceAllString(line, "")
	var targets []string
	for _, pattern := range []*regexp.Regexp{inlineLink, referenceLink} {
		for _, match := range pattern.FindAllStringSubmatch(line, -1) {
			if !withScheme.MatchString(match[1]) {
				targets = append(targets, match[1])
			}
		}
	}
	return targets
}

// follow says why a link in the file from leads nowhere; "" if it does lead somewhere.
func (t *Tree) follow(from, target string) string {
	name, anchor, _ := strings.Cut(target, "#")
	file := from
	if name != "" {
		file = path.Join(path.Dir(from), name)
	}
	switch {
	case strings.HasPrefix(name, "/"), strings.HasPrefix(file, "../"):
		return "it leads out of the repository; write it relative to this file"
	case !t.exists[file]:
		return "there is no such file"
	case anchor != "" && strings.HasSuffix(file, ".md") && !slices.Contains(anchors(t.Text[file]), anchor):
		return "there is no such heading"
	}
	return ""
}

// anchors returns the names by which headings can be linked to: lower case, spaces as hyphens, everything else but letters,
// digits, hyphens and underscores dropped, and a number behind repeated ones.
func anchors(text string) []string {
	var names []string
	seen := make(map[string]int)
	for _, line := range prose(text) {
		match := heading.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, match[1])
		if n := seen[name]; n > 0 {
			names = append(names, fmt.Sprintf("%s-%d", name, n))
		} else {
			names = append(names, name)
		}
		seen[name]++
	}
	return names
}

var release = regexp.MustCompile(`^##\s+\[?(Unreleased|v?\d+\.\d+\.\d+)`)

func checkChangelog(t *Tree) []Finding {
	text, ok := t.Text["CHANGELOG.md"]
	if !ok {
		return []Finding{{"CHANGELOG.md", 0, "there is none"}}
	}
	for _, line := range prose(text) {
		if release.MatchString(line) {
			return nil
		}
	}
	return []Finding{{"CHANGELOG.md", 0, "it has no heading ## Unreleased or ## 1.2.3"}}
}
