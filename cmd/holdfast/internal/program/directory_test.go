package program_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"holdfast.dev/filelock"
)

const isFree = "lock \"x\" is free\n"

// Looking makes no store: a mistyped path is told, and not turned into one.
func TestLookingMakesNoDirectory(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(w.home, "typo", "locks")
	url := filelock.URL(dir)
	note := "holdfast: there is no directory " + dir + ", so nobody holds or waits for a lock there; is the path right?\n"
	const (
		noHold = "holdfast: no hold of the lock \"x\" has the token 7; it is free\n"
		noJSON = "{\n  \"name\": \"x\",\n  \"lock\": null,\n  \"semaphore\": null\n}\n"
	)
	named := &world{t, w.home, append(w.env[:len(w.env):len(w.env)], "HOLDFAST_STORE="+url)}
	for _, c := range []struct {
		want result
		args []string
	}{
		{result{stderr: note}, []string{"ls"}},
		{result{stdout: "[]\n", stderr: note}, []string{"ls", "--json"}},
		{result{stdout: isFree, stderr: note}, []string{"inspect", "x"}},
		{result{stdout: noJSON, stderr: note}, []string{"inspect", "x", "--json"}},
		{result{stderr: note + noHold, code: 1}, []string{"break", "x", "--token", "7"}},
	} {
		w.expect(c.want, append(c.args, "--store", url)...)
		named.expect(c.want, c.args...)
		c.want.stderr = c.want.stderr[len(note):]
		w.expect(c.want, append(c.args, "--store", url, "-q")...)
	}
	named.expect(result{stdout: ":4\n"}, "__complete", "inspect", "")

	// Nobody named the store of one's own: that it is not there yet is nothing to tell.
	w.expect(result{stdout: isFree}, "inspect", "x")
	w.expect(result{stderr: "holdfast: nobody holds or waits for a lock\n"}, "ls")
	w.expect(result{stdout: ":4\n"}, "__complete", "inspect", "")
	if made, err := os.ReadDir(w.home); err != nil || len(made) > 0 {
		t.Errorf("made %v, %v", made, err)
	}
}

// A run makes the store's directory, and says so if the one around it is missing, too: then the path may be mistyped.
func TestRunTellsOfANewStore(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("run does not work there")
	}
	w := newWorld(t)
	url := func(path ...string) string { return filelock.URL(filepath.Join(append([]string{w.home}, path...)...)) }
	w.expect(result{stderr: "holdfast: nothing-like-it: command not found\n", code: 127},
		"run", "x", "--store", url("a", "b", "c"), "--", "nothing-like-it")
	note := "holdfast: there is no directory " + filepath.Join(w.home, "a") + " yet; making it, and in it a new store, " +
		filepath.Join(w.home, "a", "b", "c") + ": if others have locks there, the path is wrong\n"
	w.expect(result{stderr: note}, "run", "x", "--store", url("a", "b", "c"), "--", "true")
	w.expect(result{}, "run", "x", "--store", url("a", "b", "c"), "--", "true") // it is there now
	w.expect(result{}, "run", "x", "--store", url("a", "new"), "--", "true")    // its last element alone was missing
	w.expect(result{}, "run", "-q", "x", "--store", url("quiet", "new"), "--", "true")
	w.expect(result{}, "run", "x", "--", "true") // nobody named it
	named := &world{t, w.home, append(w.env, "HOLDFAST_STORE="+url("d", "e"))}
	note = "holdfast: there is no directory " + filepath.Join(w.home, "d") + " yet; making it, and in it a new store, " +
		filepath.Join(w.home, "d", "e") + ": if others have locks there, the path is wrong\n"
	named.expect(result{stderr: note}, "run", "x", "--", "true")
}
