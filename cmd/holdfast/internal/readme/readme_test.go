//go:build unix

package readme

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Rule: everything in README.md works as it says, for somebody who has the repository, Go and nothing else.
func TestReadme(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	text, err := os.ReadFile(filepath.Join(h.repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	port := portForRedis(t)
	all, err := blocks(strings.ReplaceAll(string(text), shownPort, port))
	if err != nil {
		t.Fatal(err)
	}
	h.standIn(t, filepath.Join(h.home, "bin", "report"))
	h.standIn(t, filepath.Join(h.repository, "deploy.sh"))
	r := newReader(t, h, "README.md", port)
	for _, b := range all {
		r.read(b)
	}
	r.interrupt()
	r.takeTurns()
	r.lockItself()
	for _, want := range []string{"report  under report\n", "deploy.sh v1.2 under production\n"} {
		if !strings.Contains(h.noted(t), want) {
			t.Errorf("%q was not run", want)
		}
	}
	if r.ran["console"] < 3 || r.ran["crontab"] < 1 || r.ran["file"] < 1 {
		t.Errorf("only these were found: %v", r.ran)
	}
}

// A reader does what a page says, block by block.
type reader struct {
	t      *testing.T
	house  *house
	page   string // for errors
	port   string // of the server that the page starts
	served bool   // it was started
	first  *terminal
	second *terminal   // what is exported in the first counts for nothing here
	open   *background // in the first terminal
	shown  string      // what that one prints
	ran    map[string]int
}

func newReader(t *testing.T, h *house, page, port string) *reader {
	t.Helper()
	return &reader{t: t, house: h, page: page, port: port, first: newTerminal(t, h), second: newTerminal(t, h), ran: make(map[string]int)}
}

func (r *reader) read(b block) {
	r.t.Helper()
	if b.mark != "meanwhile" {
		r.interrupt()
	}
	name, isFile := strings.CutPrefix(b.mark, "file ")
	switch {
	case isFile:
		r.ran["file"]++
		r.save(name, b.text)
	case b.language == "console" && b.mark == "until Ctrl-D":
		r.begin(b)
	case b.language == "console" && b.mark == "meanwhile" && r.open != nil:
		r.awaitLock()
		r.console(r.second, b)
	case b.language == "console" && (b.mark == "server" || strings.HasPrefix(b.mark, "server ")):
		r.serve(b)
	case b.language == "console" && b.mark == "with server" && !r.served:
		r.t.Logf("%s:%d was not run: there is no server for it on this machine", r.page, b.line)
	case b.language == "console" && (b.mark == "" || b.mark == "with server"):
		r.console(r.first, b)
	case b.language == "sh" && b.mark == "" && !strings.HasPrefix(b.text, "#!"):
		if output := r.first.run(r.t, "set -e\n"+b.text); r.first.code != 0 {
			r.t.Fatalf("%s:%d ends with code %d:\n%s\nit printed:\n%s", r.page, b.line, r.first.code, b.text, output)
		}
	case b.language == "crontab" && b.mark == "":
		r.crontab(b)
	default:
		r.t.Fatalf("%s:%d: nobody knows how to run a block %q marked %q; see the package comment of this test", r.page, b.line, b.language, b.mark)
	}
	r.ran[b.language]++
}

// console runs the commands of a block, and compares.
func (r *reader) console(term *terminal, b block) {
	r.t.Helper()
	all, err := steps(b.text)
	if err != nil {
		r.t.Fatalf("%s:%d: %v", r.page, b.line, err)
	}
	for i, s := range all {
		command := s.command
		if strings.HasPrefix(command, "make ") {
			r.tryMake(term, command)
			continue
		}
		if output := term.run(r.t, command); !alike(s.output, output) {
			r.t.Fatalf("%s:%d: %sshould print:\n%s\nbut printed:\n%s", r.page, b.line, command, s.output, output)
		}
		told := i+1 < len(all) && strings.TrimSpace(all[i+1].command) == "echo $?"
		if term.code != 0 && !told {
			r.t.Fatalf("%s:%d: %sended with code %d, which is not shown", r.page, b.line, command, term.code)
		}
	}
}

// tryMake looks what make would do.
func (r *reader) tryMake(term *terminal, command string) {
	r.t.Helper()
	output := term.run(r.t, "make -n"+strings.TrimPrefix(command, "make"))
	if term.code != 0 {
		r.t.Fatalf("%scannot be made:\n%s", command, output)
	}
	if strings.HasPrefix(command, "make test") {
		for _, want := range []string{".ci/packages", "go run ./internal/testrun", " work\n"} {
			if !strings.Contains(output, want) {
				r.t.Errorf("make test would do this, without %q:\n%s", want, output)
			}
		}
	}
}

// begin runs a block whose last command goes on.
func (r *reader) begin(b block) {
	r.t.Helper()
	all, err := steps(b.text)
	if err != nil || len(all) != 1 {
		r.t.Fatalf("%s:%d: %d commands, %v; want one", r.page, b.line, len(all), err)
	}
	r.open, r.shown = r.first.begin(r.t, all[0].command), all[0].output
}

// interrupt types Ctrl-D in the first terminal, if a command still runs there, and looks at what that printed.
func (r *reader) interrupt() {
	r.t.Helper()
	if r.open == nil {
		return
	}
	output := r.open.finish(r.t)
	if r.first.code != 0 || !alike(r.shown, output) {
		r.t.Fatalf("%sshould print:\n%s\nand end with code 0, but ended with code %d and printed:\n%s", r.open.command, r.shown, r.first.code, output)
	}
	r.open = nil
}

// awaitLock waits until somebody holds a lock: the second terminal's reader has seen that the first one's command runs.
func (r *reader) awaitLock() {
	r.t.Helper()
	look := newTerminalLike(r.t, r.first)
	for len(look.locks(r.t)) == 0 && r.open.runs() {
		time.Sleep(time.Millisecond)
	}
	if !r.open.runs() {
		r.t.Fatalf("%sended before its lock was seen, and printed:\n%s", r.open.command, r.open.finish(r.t))
	}
}

// newTerminalLike opens another terminal with the directory and the variables of the first.
func newTerminalLike(t *testing.T, first *terminal) *terminal {
	t.Helper()
	term := newTerminal(t, first.house)
	for _, name := range []string{"exports", "dir"} {
		copyFile(t, filepath.Join(first.state, name), filepath.Join(term.state, name))
	}
	return term
}

// save saves a block as a file where the terminal is.
func (r *reader) save(name, text string) {
	r.t.Helper()
	dir := strings.TrimSpace(r.first.run(r.t, "pwd"))
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(text), 0o700); err != nil {
		r.t.Fatal(err)
	}
}
