//go:build linux

package endtoend_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/locktest/remote"
)

// environment parses what env -0 prints.
func environment(text string) map[string]string {
	all := make(map[string]string)
	for entry := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		all[name] = value
	}
	return all
}

// The command's environment is the caller's, and what tells of the lock.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		odd := []string{"EMPTY=", "LINES=a\nb", "EQUALS=a=b=c", "BYTES=\xff\xfe", "SPACE= x "}
		run := func(args ...string) map[string]string {
			cmd := w.command("holdfast", append(append([]string{"run"}, args...), "--", "env", "-0")...)
			cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], odd...)
			return environment(w.startCmd(cmd).ends(0).out)
		}
		got := run("b", "a", "b")
		want := environment(strings.Join(append(w.env[:len(w.env):len(w.env)], odd...), "\x00"))
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s is %q, want %q", name, got[name], value)
			}
			delete(got, name)
		}
		tokens := strings.Split(got["HOLDFAST_TOKEN"], "\n")
		if got["HOLDFAST_NAME"] != "b\na" || len(tokens) != 2 || strings.Trim(tokens[0]+tokens[1], "0123456789") != "" {
			t.Errorf("the names are %q, the tokens %q", got["HOLDFAST_NAME"], tokens)
		}
		added := slices.Sorted(maps.Keys(got))
		if want := []string{"HOLDFAST_HELD", "HOLDFAST_NAME", "HOLDFAST_RUN", "HOLDFAST_TOKEN"}; !slices.Equal(added, want) {
			t.Errorf("added are %q, want %q", added, want)
		}
		if again := run("b"); again["HOLDFAST_NAME"] != "b" || again["HOLDFAST_TOKEN"] == tokens[0] || again["HOLDFAST_TOKEN"] == "" {
			t.Errorf("the name is %q, the token %q after %q", again["HOLDFAST_NAME"], again["HOLDFAST_TOKEN"], tokens[0])
		}
		if other := run("--store", "file://"+w.path("other"), "b"); other["HOLDFAST_STORE"] != want["HOLDFAST_STORE"] {
			t.Errorf("with --store HOLDFAST_STORE is %q, want it as it was: %q", other["HOLDFAST_STORE"], want["HOLDFAST_STORE"])
		}
	})
}

// The inner run's variables are the inner run's.
func TestNestedEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := environment(w.holdfast(0, "run", "x", "--", "holdfast", "run", "y", "--", "env", "-0").out)
	if got["HOLDFAST_NAME"] != "y" || strings.Count(got["HOLDFAST_HELD"], "\n")+1 != 2 {
		t.Errorf("the name is %q, held are %q", got["HOLDFAST_NAME"], got["HOLDFAST_HELD"])
	}
}

// Nothing else of the program's is handed on: no open file, limit, mask or disposition differs from what the caller has.
func TestNothingIsHandedOn(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		for _, look := range []string{
			"ls /proc/self/fd", "cat /proc/self/limits", "grep -E '^(Sig(Blk|Ign)|CapEff|NoNewPrivs|Seccomp|Umask|Cpus_allowed)' /proc/self/status",
			"pwd; umask", "cat /proc/self/oom_score_adj /proc/self/timerslack_ns", "nice",
		} {
			bare := w.start("sh", "-c", look).wait()
			under := w.holdfast(bare.code, "run", "x", "--", "sh", "-c", look)
			if under.out != bare.out {
				t.Errorf("%s shows %q under the program, %q without", look, under.out, bare.out)
			}
		}
	})
}

// Files that the caller passes on beside the standard ones arrive, as they would without the program.
func TestFilesAreHandedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("bash", "-c", "exec 7>seven; holdfast run x -- sh -c 'echo through >&7'").ends(0)
	if got := w.readFile("seven"); got != "through\n" {
		t.Errorf("the file has %q", got)
	}
}

// A password in the store's URL is in nobody's command line but the caller's own, and in nobody's environment but where the caller
// put it.
func TestPassword(t *testing.T) {
	t.Parallel()
	const canary = "canary-7f3a"
	w := newServedWorld(t)
	store := remote.Scheme + "://me:" + canary + "@" + w.proxy.Addr()
	var all []*running
	all = append(all, w.start("holdfast", "run", "--store", store, "x", "--", "actor", "-children", "1", "-until", w.path("end"), w.journal, "a"))
	cmd := w.command("holdfast", "run", "-v", "y", "--", "actor", "-until", w.path("end"), w.journal, "b")
	cmd.Env = append(slices.DeleteFunc(slices.Clone(w.env), func(e string) bool { return strings.HasPrefix(e, "HOLDFAST_STORE=") }), "HOLDFAST_STORE="+store)
	all = append(all, w.startCmd(cmd))
	cast := append(w.cast("a", 2), w.cast("b", 1)...)
	guards := []process{w.guardOf(all[0].process()), w.guardOf(all[1].process())}
	for _, p := range append(cast, guards...) {
		if p != cast[2] && strings.Contains(p.read("environ"), canary) {
			t.Errorf("%v has the password in its environment", p)
		}
		if strings.Contains(p.read("cmdline"), canary) {
			t.Errorf("%v has the password in its command line", p)
		}
	}
	if !cast[2].hasEnv("HOLDFAST_STORE=" + store) {
		t.Error("HOLDFAST_STORE is not passed on as it was")
	}
	w.write("end", "")
	for _, r := range all {
		if got := r.ends(0); strings.Contains(got.out+got.errors, canary) {
			t.Errorf("it prints the password: %q %q", got.out, got.errors)
		}
	}
	w.proxy.Refuse()
	for _, args := range [][]string{
		{"run", "-n", "x", "--", "true"}, {"run", "-v", "-w", "0.1", "x", "--", "true"}, {"ls"}, {"inspect", "x"}, {"break", "x", "--token", "1"},
	} {
		got := w.start("holdfast", append(args[:1:1], append([]string{"--store", store}, args[1:]...)...)...).wait()
		if got.code == 0 || strings.Contains(got.out+got.errors, canary) {
			t.Errorf("%q ends with %d and prints %q %q", args, got.code, got.out, got.errors)
		}
	}
}
