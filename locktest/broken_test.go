package locktest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A kit that passes everything would look just like a good one. So here are drivers that it must fail, and cores: each is a correct
// one with one line changed, and the kit must fail exactly the case that is about that fault, while the correct twin passes it.

// A fault is one line of a correct driver, or of the core, changed.
type fault struct {
	name  string
	what  string // is wrong with it
	in    string // the package whose conformance test is run
	test  string // that test
	file  string // of the driver or the core, from the root of the module
	line  string // what stands there once
	wrong string // what stands there instead
	fails string // the case that must fail
	rule  string // how the rule begins that it must name
}

// TestBrokenDrivers builds the conformance test with each fault and expects it to fail.
func TestBrokenDrivers(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a test binary for each broken driver")
	}
	twins := map[string]string{} // the binaries of the correct drivers, by package
	all := slices.Concat(faults, coreFaults)
	for _, f := range all {
		if twins[f.in] == "" {
			twins[f.in] = build(t, f.in, "")
		}
	}
	two := make(chan struct{}, 2) // more at a time would only take the processors from each other
	for _, f := range all {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			two <- struct{}{}
			defer func() { <-two }()
			f.mustBeFound(t, twins[f.in])
		})
	}
}

func (f *fault) mustBeFound(t *testing.T, twin string) {
	output, err := f.run(t, twin, "15s")
	if err != nil || !strings.Contains(output, "--- PASS: "+f.test+"/"+f.fails) {
		t.Fatalf("the correct twin does not pass %s: %v\n%s", f.fails, err, output)
	}
	broken := build(t, f.in, f.overlay(t))
	output, err = f.run(t, broken, "4s")
	if err == nil {
		t.Fatalf("the kit passes a driver that is broken: %s\n%s", f.what, output)
	}
	for _, want := range []string{"--- FAIL: " + f.test + "/" + f.fails + " ", "the rule is " + f.rule} {
		if !strings.Contains(output, want) {
			t.Errorf("the kit fails a driver that is broken (%s), but does not say %q:\n%s", f.what, want, output)
		}
	}
	for _, other := range []string{"panic:", "test timed out", "fatal error:"} {
		if strings.Contains(output, other) {
			t.Errorf("the kit does not judge a driver that is broken (%s), it falls over it:\n%s", f.what, output)
		}
	}
}

// overlay writes the changed file, and the description that makes the compiler use it.
func (f *fault) overlay(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", f.file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), f.line); n != 1 {
		t.Fatalf("%s contains %q %d times; it must stand there once: the code has changed, so change the fault", f.file, f.line, n)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), f.line, f.wrong, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}

// build compiles the test of a package, with an overlay or without, and returns the binary.
func build(t *testing.T, in, overlay string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "conformance.test")
	args := []string{"test", "-c", "-o", binary}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, in)...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the test of %s: %v\n%s", in, err, output)
	}
	return binary
}

// run runs the case that is about the fault.
func (f *fault) run(t *testing.T, binary, patience string) (string, error) {
	t.Helper()
	parts := strings.Split(f.test+"/"+f.fails, "/")
	cmd := exec.Command(binary, "-test.v", "-test.timeout=2m", "-test.run=^"+strings.Join(parts, "$/^")+"$")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOLDFAST_LOCKTEST_PATIENCE="+patience)
	output, err := cmd.CombinedOutput()
	return string(output), err
}
