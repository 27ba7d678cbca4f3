package say

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// odd are characters that a terminal obeys, or that a reader cannot see.
var odd = map[string]string{
	"\x1b":       `\x1b`, // C0
	"\x00":       `\x00`,
	"\a":         `\a`,
	"\t":         `\t`,
	"\r":         `\r`,
	"\x7f":       `\x7f`,       // DEL
	"\u0085":     `\u0085`,     // C1
	"\u009b":     `\u009b`,     // C1: as ESC [
	"\u202e":     `\u202e`,     // turns the direction of writing
	"\u2066":     `\u2066`,     // too
	"\u200b":     `\u200b`,     // has no width
	"\u00ad":     `\u00ad`,     // soft hyphen
	"\u00a0":     `\u00a0`,     // a space that is none
	"\u2028":     `\u2028`,     // line separator
	"\ufeff":     `\ufeff`,     // byte order mark
	"\ufe0f":     `\ufe0f`,     // variation selector: a mark that shows nothing
	"\u034f":     `\u034f`,     // joiner: too
	"\u3164":     `\u3164`,     // a letter that shows nothing
	"\U000e0041": `\U000e0041`, // tag
	"\U000e0100": `\U000e0100`, // variation selector
	"\ue000":     `\ue000`,     // private use
	"\xff":       `\xff`,       // not UTF-8
	"\xc3":       `\xc3`,
}

func TestHarmlessEscapesWhatIsOdd(t *testing.T) {
	for text, want := range odd {
		if got := Harmless("a" + text + "b"); got != "a"+want+"b" {
			t.Errorf("Harmless(%q) = %q, want %q", text, got, want)
		}
		if got := Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
		if got := Name("a" + text); got != `"a`+want+`"` {
			t.Errorf("Name(%q) = %s, want it quoted", "a"+text, got)
		}
	}
	for _, plain := range []string{"", "a b", `back\slash "quoted"`, "déjà vu", "日本", "👍", "�"} {
		if Harmless(plain) != plain || Line(plain) != plain {
			t.Errorf("%q is changed", plain)
		}
	}
	if Harmless("a\nb") != "a\nb" || Line("a\nb") != `a\nb` {
		t.Error("line ends: Harmless keeps them, Line does not")
	}
}

func TestNameQuotes(t *testing.T) {
	for name, want := range map[string]string{
		"orders/42":   "orders/42",
		"two words":   "two words",
		`a\u202e`:     `a\u202e`, // as it is: nothing had to be escaped
		"a\u202e":     `"a\u202e"`,
		"\\\u202e":    `"\\\u202e"`,
		"q\"\u202e":   `"q\"\u202e"`,
		`"a"`:         `"\"a\""`,
		"":            `""`,
		" a":          `" a"`,
		"a ":          `"a "`,
		"a  b":        `"a  b"`,
		"日本":          "日本",
		"in \"side\"": `in "side"`,
	} {
		if got := Name(name); got != want {
			t.Errorf("Name(%q) = %s, want %s", name, got, want)
		}
	}
	if got := Quote(`a "b" \`); got != `"a \"b\" \\"` {
		t.Errorf("Quote: %s", got)
	}
}

// Whatever the text, nothing odd is printed, and two names that differ are printed differently.
func TestRandomNames(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{"a", "\\", `"`, "u202e", "x1b", " ", "\n", "n", "é", "日", "�"}
	for text := range odd {
		pieces = append(pieces, text)
	}
	seen := make(map[string]string)
	for range 50_000 {
		var name string
		for range random.IntN(4) {
			name += pieces[random.IntN(len(pieces))]
		}
		shown := Name(name)
		if other, known := seen[shown]; known && other != name {
			t.Fatalf("%q and %q are both shown as %s", name, other, shown)
		}
		seen[shown] = name
		for _, r := range shown + Line(name) + Quote(name) {
			if r != ' ' && (!unicode.IsGraphic(r) || unicode.In(r, unicode.Cc, unicode.Cf)) {
				t.Fatalf("%q is shown with %U", name, r)
			}
		}
	}
}

func TestJSONIsHarmlessAndTrue(t *testing.T) {
	for text := range odd {
		if !utf8.ValidString(text) {
			continue // JSON cannot say it
		}
		var b strings.Builder
		if err := JSON(&b, map[string]string{"name": "<a>\n" + text}); err != nil {
			t.Fatal(err)
		}
		if Harmless(b.String()) != b.String() || !strings.Contains(b.String(), "<a>") {
			t.Errorf("%q: %q is not harmless", text, b.String())
		}
		var back map[string]string
		if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back["name"] != "<a>\n"+text {
			t.Errorf("%q came back as %q, %v", text, back["name"], err)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"abcdef", 0, "abcdef"}, {"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"abcdef", 1, "…"},
		{"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"e\u0301e\u0301", 2, "e\u0301e\u0301"}, {"👍👍", 3, "👍…"},
	} {
		if got := Cut(c.text, c.width); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
	if got := Pad("日", 4) + "|"; got != "日  |" {
		t.Errorf("Pad: %q", got)
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", -time.Second: "0s", time.Millisecond: "0.1s", 340 * time.Millisecond: "0.3s", 9940 * time.Millisecond: "9.9s",
		9960 * time.Millisecond: "10s", 59400 * time.Millisecond: "59s", 59600 * time.Millisecond: "1m00s", 200 * time.Second: "3m20s",
		time.Hour - time.Millisecond: "1h00m", 2*time.Hour + 5*time.Minute: "2h05m", 76 * time.Hour: "3d04h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %s, want %s", d, got, want)
		}
	}
}
