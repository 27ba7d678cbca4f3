package program_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bundle makes one with one round, from the form that histories have: whoever changes the form changes this. In the round somebody looks
// at a lock; and if it is bad, the store has something left at the end.
func (w *world) bundle(bad bool) (dir string) {
	w.t.Helper()
	const acquire, release, round = 1, 3, 9
	const asked, done, began, draining, drained, leak, ended = 1, 3, 14, 16, 17, 18, 12
	var records []byte
	for i, r := range [][3]byte{{round, began}, {acquire, asked}, {acquire, done, 2}, {release, asked}, {release, done, 1},
		{round, draining}, {round, drained}, {round, ended}, {round, leak}} {
		at := uint64(i+1) * 1e6
		record := binary.LittleEndian.AppendUint64(nil, at)
		record = append(record, make([]byte, 40-8)...)
		if r[0] != round {
			record[8], record[16] = 1, 1 // the attempt, and its token
		}
		switch value := record[24:]; {
		case bad && r[1] == leak, r[0] == acquire && r[1] == asked: // two are left; TryLock
			value[0] = 2
		case r[0] == acquire: // valid until
			binary.LittleEndian.PutUint64(value, at+1e9)
		}
		record = append(record, r[0], r[1], r[2], 0)
		records = append(records, binary.LittleEndian.AppendUint32(record, crc32.ChecksumIEEE(record))...)
	}
	dir = filepath.Join(w.t.TempDir(), "proof")
	if err := os.Mkdir(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bundle.json"), []byte(`{"format": 1, "runs": [{"command": "by hand", "seed": 5}]}`), 0o600); err != nil {
		w.t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, "round-000001.tgz"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close()
	zip := gzip.NewWriter(file)
	defer zip.Close()
	archive := tar.NewWriter(zip)
	defer archive.Close()
	for name, data := range map[string]string{"controller.hist": string(records),
		"meta.json": `{"number": 1, "seed": 5, "store": "toy", "class": "within", "ttl": 1000000000, "locks": [{"name": "hot"}]}`} {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data))}); err != nil {
			w.t.Fatal(err)
		}
		if _, err := archive.Write([]byte(data)); err != nil {
			w.t.Fatal(err)
		}
	}
	return dir
}

const helpTorture = `; "holdfast help torture" lists the flags`

// What cannot be meant ends with 64, and with what would be right.
func TestTortureMistakes(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(w.home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.wrong(`there is no command "torture chek"; "holdfast help torture" lists what there is`, "torture", "chek", "proof")
	for _, flag := range []string{"store", "faults", "into"} {
		w.wrong("--"+flag+" is given, and says nothing: leave it out, or is a variable empty?", "torture", "--"+flag, "")
	}
	w.wrong(`no bundle is given; name a directory that holdfast torture --into has made`, "torture", "check")
	w.wrong(`no bundle is given; name a directory that holdfast torture --into has made`, "torture", "report")
	w.wrong(`give a BUNDLE, and the number of a ROUND in it, as in: holdfast torture show proof 3`, "torture", "show", "proof")
	w.wrong(`"first" is no number of a round; write: holdfast torture show BUNDLE 3`, "torture", "show", "proof", "first")
	w.wrong(`--seed does not take "x"`+helpTorture, "torture", "--seed", "x")
	w.wrong(`--seed does not take "-1"`+helpTorture, "torture", "--seed", "-1")
	w.wrong(`--workers does not take "many"`+helpTorture, "torture", "--workers", "many")
	w.wrong(`--duration takes a time: seconds such as 10 or 0.5, or 500ms, 30s, 5m, 2h; not "-3s"`, "torture", "--duration", "-3s")
	w.wrong(`unknown flag --fault; did you mean --faults? "holdfast help torture" lists the flags`, "torture", "--fault", "cut")
	w.wrong(`torture starts stores of its own and takes no URL; --store takes all, memory, file, redis, redis-replicas, redis-sentinel, redlock-3, redlock-5`,
		"torture", "--store", "redis://:"+canary+"@localhost")

	dir := w.bundle(false)
	nowhere := filepath.Join(w.home, "nowhere")
	for _, c := range []struct{ args, want string }{
		{"torture --store etcd", `bad option: there is no store "etcd" to torture; there are all, memory, file, redis`},
		{"torture --store file --faults flood", `bad option: there is no fault "flood" here; there are all, within, beyond, worker-`},
		{"torture --workers 1", `bad option: 1 workers: give 2 to 64`},
		{"torture --into " + file, `bad option: ` + file + ` is a file, and a bundle is a directory`},
		{"torture --into " + w.home, `bad option: ` + w.home + ` is no bundle of torture, and is not empty: name another directory`},
		{"torture controls N0", `bad option: there is no control "N0"; there are N1, `},
		{"torture controls --seeds 0", `bad option: 0 seeds, 2 at the same time: give 1 at least`},
		{"torture check " + nowhere, `bad option: ` + nowhere + `: no bundle of torture: there is no bundle.json in it`},
		{"torture report " + nowhere, `bad option: ` + nowhere + `: no bundle of torture: there is no bundle.json in it`},
		{"torture show " + dir + " 2", `bad option: round 2 of ` + dir + `: there is no such round; it has round 1`},
		{"torture show --lock cold " + dir + " 1", `bad option: round 1 has no lock "cold"; there are hot`},
	} {
		got := w.run(append(strings.Fields(c.args), "-q")...)
		if got.code != 64 || got.stdout != "" || !strings.HasPrefix(got.stderr, "holdfast: "+c.want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: %d, %q, %q; want %q", c.args, got.code, got.stdout, got.stderr, c.want)
		}
	}
	if _, err := os.Stat(nowhere); err == nil {
		t.Error("a bundle was made of what was only to be read")
	}
}

// Every page fits a terminal, and says what the command does by itself.
func TestTortureHelp(t *testing.T) {
	w := newWorld(t)
	for _, command := range []string{"torture", "torture controls", "torture check", "torture report", "torture show"} {
		got := w.run(strings.Fields("help " + command)...)
		if also := w.run(strings.Fields(command + " --help")...); got != also || got.code != 0 || got.stderr != "" {
			t.Errorf("help %s and %[1]s --help differ, or fail: %d, %q", command, got.code, got.stderr)
		}
		if !strings.Contains(got.stdout, "\nUsage:\n  holdfast "+command+" ") || !strings.Contains(got.stdout, "\nExamples:\n  holdfast "+command) {
			t.Errorf("help %s lacks something:\n%s", command, got.stdout)
		}
		for line := range strings.Lines(got.stdout) {
			if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 || strings.Contains(line, "\t") {
				t.Errorf("help %s: too wide: %s", command, line)
			}
		}
	}
	if page := w.run("help", "torture").stdout; !strings.Contains(page, "  holdfast torture [flags]\n  holdfast torture COMMAND [flags]\n") ||
		!strings.Contains(page, "ends with 130") {
		t.Errorf("%s", page)
	}
}

// A bundle with a violation ends with 1, in every form and again; one without ends with 0.
func TestTortureBundles(t *testing.T) {
	w := newWorld(t)
	page := filepath.Join(w.home, "page.html")
	for _, bad := range []bool{false, true} {
		code, verdict, name := 0, "PASSED: no violation in 1 operation", "good"
		if bad {
			code, verdict, name = 1, "FAILED: 1 violation found", "bad"
		}
		dir := w.bundle(bad)
		for _, c := range []struct{ args, want, note string }{
			{"check", verdict, "holdfast: " + dir + ": round 1\n"},
			{"check -q", "  $ by hand\n", ""},
			{"report", verdict, ""},
			{"report --json", `"rounds":1`, ""},
			{"report --markdown", "# ", ""},
			{"report --markdown --html " + page, "# ", ""},
		} {
			got := w.run(append(strings.Fields("torture "+c.args), dir)...)
			if got.code != code || !strings.Contains(got.stdout, c.want) || got.stderr != c.note {
				t.Errorf("%s of a %s one: %d, %q, %q; want %d, %q", c.args, name, got.code, got.stderr, got.stdout, code, c.want)
			}
		}
		if data, err := os.ReadFile(page); !strings.HasPrefix(string(data), "<!doctype html>") || os.Remove(page) != nil {
			t.Errorf("%s: the page: %v, %d bytes", name, err, len(data))
		}
	}
	good, bad := w.bundle(false), w.bundle(true)
	if got := w.run("torture", "report", good, bad); got.code != 1 || !strings.Contains(got.stdout, "2 rounds") {
		t.Errorf("both: %v", got)
	}
	got := w.run("torture", "show", good, "1")
	if lines := strings.Count(got.stdout, "\n"); got.code != 0 || lines != 9 || !strings.Contains(got.stdout, "hot acquire asked") || got.stderr != "" {
		t.Errorf("show: %v", got)
	}
}

// A page that cannot be written is said to be so: before a run, or together with all the rest.
func TestTorturePageIsNotWritable(t *testing.T) {
	w := newWorld(t)
	page := filepath.Join(w.home, "nowhere", "page.html")
	for _, args := range []string{"torture --duration 1h", "torture controls"} {
		got := w.run(append(strings.Fields(args), "--html", page)...)
		if got.code != 71 || got.stdout != "" || !strings.HasPrefix(got.stderr, "holdfast: open "+page) {
			t.Errorf("%s: %v", args, got)
		}
	}
	got := w.run("torture", "check", "-q", w.bundle(false), "--html", page)
	if got.code != 71 || !strings.Contains(got.stdout, "PASSED") || !strings.HasPrefix(got.stderr, "holdfast: open "+page) {
		t.Errorf("check: %v", got)
	}
}

// A run prints the command that runs it again, how it goes, and what it came to; into a bundle, and a page.
func TestTortureRuns(t *testing.T) {
	temporary := t.TempDir()
	w := newWorld(t, "TMPDIR="+temporary)
	dir, page := filepath.Join(w.home, "proof"), filepath.Join(w.home, "page.html")
	args := []string{"torture", "--store", "memory", "--duration", "0.5", "--workers", "4", "--seed", "7", "--faults", "break-now"}
	got := w.run(append(args, "--into", dir, "--html", page)...)
	const command = "holdfast torture --store memory --faults break-now --seed 7 --duration 500ms --workers 4"
	if got.code != 0 || !strings.HasPrefix(got.stderr, "holdfast: "+command+"\nmemory round 1 · no violations · ") ||
		!strings.HasSuffix(got.stdout, "  check it again: holdfast torture check "+dir+"\n") || !strings.Contains(got.stdout, "  $ "+command+"\n") {
		t.Errorf("%d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	if data, err := os.ReadFile(page); !strings.HasPrefix(string(data), "<!doctype html>") {
		t.Errorf("the page: %v, %d bytes", err, len(data))
	}
	if got := w.run(append(args, "-q", "--json", "--into", dir)...); got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, `"rounds":2`) {
		t.Errorf("the second run: %d, %q, %.300s", got.code, got.stderr, got.stdout)
	}
	if got := w.run("torture", "check", "-q", dir); got.code != 0 || !strings.Contains(got.stdout, "2 rounds in ") {
		t.Errorf("check: %v", got)
	}
	if left, err := os.ReadDir(temporary); len(left) != 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}
