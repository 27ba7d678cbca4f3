package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun runs the real go test on a module with every kind of outcome.
func TestRun(t *testing.T) {
	const body = "package %\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) { $ }\n"
	dir := t.TempDir()
	for name, code := range map[string]string{
		"good": "", "bad": `t.Error("the reason")`, "panics": `panic("the panic")`, "unbuilt": "undefined()", "skips": `t.Skip("no server")`,
	} {
		text := strings.NewReplacer("%", name, "$", code).Replace(body)
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "one_test.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.test\n\ngo 1.26.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args    string
		require string
		want    string
		wantErr string
	}{
		{"./good", "all", "ok  \texample.test/good\t", ""},
		{"./bad", "", " (0.00s)\n    one_test.go:5: the reason\n", "exit status 1"},
		{"./panics", "", "panic: the panic", "exit status 1"},
		{"./unbuilt", "", "undefined: undefined", "exit status 1"},
		{"./good ./unbuilt", "", "FAIL\texample.test/unbuilt [build failed]", "exit status 1"},
		{"./good ./skips", "redis", "skipped: example.test/skips TestOne: one_test.go:5: no server", ""},
		{"./good ./skips", "all", "ok  \texample.test/skips\t", "1 tests were skipped"},
		{"./missing", "", "", "exit status 1"},
		{"-run=Nothing ./good", "", "[no tests to run]", "no test ran"},
	}
	for _, tt := range tests {
		t.Run(tt.args+" "+tt.require, func(t *testing.T) {
			t.Setenv("GOWORK", "off")
			t.Setenv("HOLDFAST_TEST_REQUIRE", tt.require)
			var out strings.Builder
			err := run(t.Context(), dir, append([]string{"-vet=off"}, strings.Fields(tt.args)...), &out)
			if (err == nil) != (tt.wantErr == "") || (err != nil && !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}
			if !strings.Contains(out.String(), tt.want) {
				t.Errorf("%q is missing in:\n%s", tt.want, out.String())
			}
		})
	}
}
