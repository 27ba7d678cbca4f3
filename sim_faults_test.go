package holdfast

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// simFaults are mistakes put into the core on purpose, and into the store for the rules that are its own: one place of one file each.
// The simulation must find every one of them; the correct core, its twin, is what TestSimulation runs.
var simFaults = []struct {
	name, file, old, new string
	finds                string // what it must complain of
}{{
	name:  "the deadline of a renewal is counted from the answer",
	file:  "renew.go",
	old:   "return k.answer(asked, holds, err, regular)",
	new:   "asked = k.c.clock.Now()\n\treturn k.answer(asked, holds, err, regular)",
	finds: "is valid for another",
}, {
	name:  "the deadline of a grant is counted from the answer",
	file:  "acquire.go",
	old:   "return a.adopt(grant)",
	new:   "grant.Asked = a.c.clock.Now()\n\treturn a.adopt(grant)",
	finds: "is valid for another",
}, {
	name:  "an unknown renewal is treated as renewed",
	file:  "renew.go",
	old:   "return k.answer(asked, holds, err, regular)",
	new:   "if err != nil && lossOf(err) == \"\" {\n\t\tholds, err = ttl, nil\n\t}\n\treturn k.answer(asked, holds, err, regular)",
	finds: "is valid for another",
}, {
	name:  "undo on the caller's context",
	file:  "acquire.go",
	old:   "a.undo() // also after an answer",
	new:   "a.c.store.Release(ctx, &a.req) // also after an answer",
	finds: "gave up, but still waits or holds",
}, {
	name:  "no margin for clocks that run differently",
	file:  "renew.go",
	old:   "asked.Add(ttl - driver.Margin(ttl))",
	new:   "asked.Add(ttl)",
	finds: "is valid for another",
}, {
	name:  "a Multi does not undo the parts that it has when another fails",
	file:  "multi.go",
	old:   "all.unlockParts(patience, (*Hold).undo)",
	new:   "_ = patience",
	finds: "failed as a whole, but its client still holds",
}, {
	name:  "a Multi takes its parts in the order in which they are written",
	file:  "multi.go",
	old:   "slices.SortStableFunc(parts, (*part).compare)",
	new:   "",
	finds: "was not served as a holder of all after everything healed",
}, {
	name:  "a Multi waits for what others take before what the context holds",
	file:  "multi.go",
	old:   "p.compare(have) <= 0",
	new:   "p.compare(have) == 0",
	finds: "that others take before",
}, {
	name:  "the loss of a part other than the first does not end a Multi's context",
	file:  "multi_hold.go",
	old:   "ctx = p.Context(ctx)",
	new:   "if p == h.parts[0] {\n\t\t\tctx = p.Context(ctx)\n\t\t}",
	finds: "but its context lives",
}, {
	name:  "a writer nests in a reader",
	file:  "reentry.go",
	old:   "if t.mode == Exclusive && outer.Err() == nil {",
	new:   "if false {",
	finds: "but a writer is let in",
}, {
	name:  "a reader does not nest: inside a writer it waits for itself",
	file:  "target.go",
	old:   "outer != nil && t.mode != driver.Permits",
	new:   "outer != nil && t.mode == driver.Exclusive",
	finds: "but re-entering it had to wait",
}, {
	name: "Run resigns before its function has returned",
	file: "election.go",
	old:  "err := f(ctx)",
	new: `answer := make(chan error, 1)
			go func() { answer <- f(ctx) }()
			var err error
			select {
			case err = <-answer:
			case <-ctx.Done():
				err = ctx.Err()
			}`,
	finds: "before its function returned",
}, {
	name:  "Run does not campaign again after a loss",
	file:  "election.go",
	old:   "if done || !errors.Is(err, ErrLost) || ctx.Err() != nil {",
	new:   "if done || err != nil {",
	finds: "Run did not campaign again after a loss",
}, {
	name:  "the end of a shared lease reaches only one of its holds",
	file:  "renew.go",
	old:   "range slices.Clone(k.tenures) {",
	new:   "range slices.Clone(k.tenures[:min(1, len(k.tenures))]) {",
	finds: "its server has said that it is gone, but its context lives",
}, {
	name:  "permits nest in a lock of the same name",
	file:  "target.go",
	old:   "outer != nil && t.mode != driver.Permits",
	new:   "outer != nil",
	finds: "is held, but that was not asked for",
}, {
	name:  "the store gives each reader a token of its own",
	file:  "memlock/lock.go",
	old:   "r != nil && r.state == holding && r.broken == nil",
	new:   "r != nil && r.state == ended",
	finds: "are side by side: they are of one generation",
}, {
	name:  "the store lets a writer in beside readers",
	file:  "memlock/lock.go",
	old:   "\treturn l.holders.len == 0\n",
	new:   "\treturn l.holders.len == 0 || l.holders.back.mode == driver.Shared\n",
	finds: "is granted while a reader with token",
}, {
	name:  "the store gives more permits than there are",
	file:  "memlock/lock.go",
	old:   "c.n <= l.limit-l.taken",
	new:   "c.n <= l.limit",
	finds: "permits are granted while",
}}

// TestSimulationFindsFaults is the test of the simulation.
func TestSimulationFindsFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the core once for each fault")
	}
	for _, fault := range simFaults {
		t.Run(fault.name, func(t *testing.T) {
			source, err := os.ReadFile(fault.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), fault.old); n != 1 {
				t.Fatalf("%s contains %q %d times, not once: adapt the fault to the code", fault.file, fault.old, n)
			}
			output, err := exec.Command("go", "test", "-overlay", overlay(t, fault.file, strings.Replace(string(source), fault.old, fault.new, 1)),
				"-run", "^TestSimulation$", "-timeout=5m", "-sim.seeds=10000", ".").CombinedOutput()
			switch text := string(output); {
			case err == nil:
				t.Errorf("the simulation did not find it:\n%s", text)
			case !strings.Contains(text, fault.finds) || !strings.Contains(text, "-sim.seed="):
				t.Errorf("the simulation failed, but not with %q and a seed:\n%.3000s", fault.finds, text)
			default:
				t.Log(firstLine(text, "seed "))
			}
		})
	}
}

// overlay returns a file that makes the go command see text in place of file.
func overlay(t *testing.T, file, text string) string {
	dir := t.TempDir()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	mutant := filepath.Join(dir, filepath.Base(file))
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{mutant: []byte(text), filepath.Join(dir, "overlay.json"): list} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "overlay.json")
}

func firstLine(text, with string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, with) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
