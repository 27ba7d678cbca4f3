package readme

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// A block is a piece of code in a Markdown file.
type block struct {
	line     int // of its fence
	language string
	mark     string // what the comment above it tells the test
	text     string
}

var testMark = regexp.MustCompile(`^<!-- test: (.*) -->$`)

// blocks returns the fenced blocks of a text. Code that is only indented would be overlooked, so it is an error, and so is a mark
// that stands above anything else than a block.
func blocks(text string) ([]block, error) {
	var all []block
	var open *block
	mark, markLine, above := "", 0, ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		switch match := testMark.FindStringSubmatch(line); {
		case open != nil && line == "```":
			all, open = append(all, *open), nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "```"):
			open = &block{line: n, language: strings.TrimPrefix(line, "```"), mark: mark}
			mark = ""
		case mark != "":
			return nil, fmt.Errorf("line %d: no block follows the mark", markLine)
		case match != nil:
			mark, markLine = match[1], n
		case above == "" && strings.HasPrefix(line, "    "):
			return nil, fmt.Errorf("line %d: code without a fence", n)
		}
		above = line
	}
	if open != nil || mark != "" {
		return nil, fmt.Errorf("line %d: a block or a mark without an end", n)
	}
	return all, nil
}

// A step is a command of a console block, and what it prints.
type step struct {
	command string
	output  string
}

// steps returns the commands of a console block. "> " goes on with the command above it, as a shell's second prompt does.
func steps(text string) ([]step, error) {
	var all []step
	for line := range strings.Lines(text) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		more, isMore := strings.CutPrefix(line, "> ")
		switch {
		case isCommand:
			all = append(all, step{command: command})
		case len(all) == 0:
			return nil, fmt.Errorf("%q stands before the first command, which begins with \"$ \"", line)
		case isMore && all[len(all)-1].output == "":
			all[len(all)-1].command += more
		default:
			all[len(all)-1].output += line
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no command: a command begins with \"$ \"")
	}
	return all, nil
}

var (
	processName = regexp.MustCompile(`[\w.-]+:\d+\b`)
	token       = regexp.MustCompile(`(\btoken )\d+\b|\b\d+( 1s\b)`) // in a sentence; in a table, before "held for"
	duration    = regexp.MustCompile(`\b(\d+(\.\d+)?(ms|µs|s|m|h))+\b`)
	spaces      = regexp.MustCompile(`[ \t]+`)
	download    = regexp.MustCompile(`(?m)^go: downloading .*\n`)
)

// alike reports whether a command printed what is shown. What the go command says of downloads depends on its cache.
func alike(shown, printed string) bool {
	plain := func(s string) string {
		s = processName.ReplaceAllString(s, "host:1")
		s = duration.ReplaceAllString(s, "1s")
		s = spaces.ReplaceAllString(s, " ")
		return token.ReplaceAllString(s, "${1}7${2}")
	}
	printed = download.ReplaceAllString(printed, "")
	pattern := strings.ReplaceAll(regexp.QuoteMeta(plain(shown)), "…", ".*")
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(plain(printed))
}

func TestBlocks(t *testing.T) {
	got, err := blocks("# A\n\n```sh\na\n```\n\n<!-- test: file x -->\n```go\nb\n\nc\n```\n- a list\n    that goes on\n")
	want := fmt.Sprint([]block{{3, "sh", "", "a\n"}, {8, "go", "file x", "b\n\nc\n"}})
	if err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for text, want := range map[string]string{
		"a\n\n    code\n":                       "line 3: code without a fence",
		"```sh\na\n":                            "without an end",
		"<!-- test: file x -->\n":               "without an end",
		"<!-- test: file x -->\n\n```sh\n```\n": "line 1: no block follows",
	} {
		if _, err := blocks(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestSteps(t *testing.T) {
	got, err := steps("$ a \\\n> b\nx\n> y\n$ c\n")
	if want := fmt.Sprint([]step{{"a \\\nb\n", "x\n> y\n"}, {"c\n", ""}}); err != nil || fmt.Sprint(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for _, text := range []string{"x\n$ a\n", ""} {
		if _, err := steps(text); err == nil {
			t.Errorf("%q is no console", text)
		}
	}
}

func TestAlike(t *testing.T) {
	for _, tt := range []struct {
		shown, printed string
		want           bool
	}{
		{"a\n", "a\n", true},
		{"a\n", "a", false},
		{"a\n", "a\nb\n", false},
		{"a\n", "", false},
		{"", "a\n", false},
		{"a…c\n", "abc\n", true},
		{"a…c\n", "ab\nc\n", false},
		{"web-1:4711 for 12s\n", "x.y:1   for 1h2m0.5s\n", true},
		{"web-1:4711 for 12s\n", "x.y for 12s\n", false},
		{"token 1\n", "token 2\n", true},
		{"a:1 cat  65  12s —\n", "a:1 cat 129 0.1s —\n", true},
		{"a:1 cat  65  12s —\n", "a:1 cat  0.1s —\n", false},
		{"1\n", "2\n", false},
		{"a.c\n", "abc\n", false},
		{"a\n", "go: downloading x v1\na\n", true},
	} {
		if got := alike(tt.shown, tt.printed); got != tt.want {
			t.Errorf("%q and %q: %v, want %v", tt.shown, tt.printed, got, tt.want)
		}
	}
}
