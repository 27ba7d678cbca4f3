package main

import (
	"fmt"
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

// TestRunWorkspace: "work" is every module of go.work, and a failure in any of them counts. At the root ./... would miss the second.
func TestRunWorkspace(t *testing.T) {
	const test = "package %s\n\nimport \"testing\"\n\nfunc Test%s(t *testing.T) { %s }\n"
	dir := t.TempDir()
	write := func(path, format string, args ...any) {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.work", "go 1.26.0\n\nuse (\n\t.\n\t./sub/two\n)\n")
	write("go.mod", "module example.test\n\ngo 1.26.0\n")
	write("sub/two/go.mod", "module example.test/sub/two\n\ngo 1.26.0\n")
	write("one_test.go", test, "one", "One", "")
	t.Setenv("GOWORK", "")
	t.Setenv("HOLDFAST_TEST_REQUIRE", "all")
	for _, tt := range []struct{ code, count, wantErr string }{
		{"", "2 tests passed, 0 failed, 0 were skipped; 2 packages", ""},
		{"t.Fail()", "1 tests passed, 1 failed", "exit status 1"},
		{`t.Skip("no server")`, "1 tests passed, 0 failed, 1 were skipped", "1 tests were skipped"},
	} {
		write("sub/two/two_test.go", test, "two", "Two", tt.code)
		var out strings.Builder
		err := run(t.Context(), dir, []string{"-vet=off", "work"}, &out)
		if (err == nil) != (tt.wantErr == "") || (err != nil && !strings.Contains(err.Error(), tt.wantErr)) {
			t.Errorf("%q: error %v, want %q", tt.code, err, tt.wantErr)
		}
		for _, want := range []string{"\texample.test/sub/two\t", "s  example.test/sub/two TestTwo\n", "s  example.test TestOne\n", tt.count} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q: %q is missing in:\n%s", tt.code, want, out.String())
			}
		}
	}
}
