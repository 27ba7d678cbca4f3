//go:build unix

package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What docs/coming-from.md must have a row for: every flag of the others, and what their commands see.
var theirFlags = map[string]string{
	"flock(1)":     `-s --shared -x -e --exclusive -u --unlock -n --nb --nonblock -w --timeout --wait -E --conflict-exit-code -o --close -c --command -F --no-fork --verbose -h --help -V --version --fcntl`,
	"consul lock":  `-child-exit-code -monitor-retry -n -name -pass-stdin -shell -timeout -try -verbose -http-addr -token CONSUL_LOCK_HELD`,
	"etcdctl lock": `--ttl --endpoints --command-timeout ETCD_LOCK_KEY ETCD_LOCK_REV`,
}

// What the words in the command lines stand for. "cat" ends at once: there is nothing to read.
var stands = strings.NewReplacer("HOLDFAST_NAME", "HOLDFAST_NAME", "NAME", "orders/42", "COMMAND", "true", "STRING", "'true && true'",
	"SECONDS", "2.5", "CODE", "9", "TEXT", "me", "URL", `"file://$HOME/other"`, " N ", " 3 ")

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	counts   = regexp.MustCompile(`(\d+) rows, (\d+)\s+of\s+them\s+not there`)
)

// Rule: the tables for users of other commands are complete, and every command line in them works.
func TestComingFromCommands(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	text, err := os.ReadFile(filepath.Join(h.repository, "docs", "coming-from.md"))
	if err != nil {
		t.Fatal(err)
	}
	term := newTerminal(t, h)
	if output := term.run(t, `CGO_ENABLED=0 go build -o ~/bin/ ./cmd/holdfast && export PATH=~/bin:$PATH`); term.code != 0 {
		t.Fatal(output)
	}
	for section, flags := range theirFlags {
		_, part, found := strings.Cut(string(text), "\n## "+section+"\n")
		if !found {
			t.Fatalf("no section %s", section)
		}
		part, _, _ = strings.Cut(part, "\n## ")
		checkCommands(t, term, section, part, strings.Fields(flags))
	}
}

// checkCommands checks one table.
func checkCommands(t *testing.T, term *terminal, section, part string, flags []string) {
	var theirs []string
	rows, missing := 0, 0
	for line := range strings.Lines(part) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 {
			t.Errorf("%s: %d cells, want 3: %s", section, len(cells), line)
			continue
		}
		rows++
		for _, span := range codeSpan.FindAllStringSubmatch(cells[0], -1) {
			theirs = append(theirs, span[1])
		}
		here := strings.TrimSpace(cells[1])
		span := codeSpan.FindStringSubmatch(here)
		switch {
		case here == "not there":
			if missing++; strings.TrimSpace(cells[2]) == "" {
				t.Errorf("%s: not there, without a reason: %s", section, line)
			}
		case span == nil || span[0] != here || !strings.HasPrefix(span[1], "holdfast "):
			t.Errorf("%s: not one command line: %s", section, here)
		default:
			if output := term.run(t, stands.Replace(span[1])); term.code != 0 {
				t.Errorf("%s: %s ended with code %d: %s", section, stands.Replace(span[1]), term.code, output)
			}
		}
	}
	for _, flag := range flags {
		if !slices.Contains(theirs, flag) {
			t.Errorf("%s: no row for %s", section, flag)
		}
	}
	said := counts.FindStringSubmatch(part)
	if said == nil || said[1] != strconv.Itoa(rows) || said[2] != strconv.Itoa(missing) {
		t.Errorf("%s has %d rows, %d of them not there; it says %q", section, rows, missing, said)
	}
}

// Rule: the list of flock's flags above is that of the flock on this machine, or longer.
func TestFlockFlagsAreKnown(t *testing.T) {
	help, err := exec.Command("flock", "--help").CombinedOutput()
	if err != nil {
		t.Skipf("flock --help: %v: install what has flock(1), in Debian util-linux", err)
	}
	found := regexp.MustCompile(`(?m)^ +(-\w), (--[\w-]+)|^ +(--[\w-]+)`).FindAllStringSubmatch(string(help), -1)
	if len(found) < 10 {
		t.Fatalf("only %d flags in:\n%s", len(found), help)
	}
	known := strings.Fields(theirFlags["flock(1)"])
	for _, match := range found {
		for _, flag := range match[1:] {
			if flag != "" && !slices.Contains(known, flag) {
				t.Errorf("flock has a flag %s", flag)
			}
		}
	}
}
