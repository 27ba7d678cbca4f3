//go:build unix

package filelock

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// A platter is what a power failure leaves of the files below a directory: of each file what it said when it was last synced, and of
// each directory the names that it had when that was. Nothing that was not synced is left.
type platter struct {
	root string

	mu     sync.Mutex
	texts  map[string][]byte
	names  map[string][]string
	before map[string][]byte // the texts before the last ones
}

func newPlatter(t *testing.T, root string) *platter {
	p := &platter{root: root, texts: make(map[string][]byte), names: make(map[string][]string), before: make(map[string][]byte)}
	synced := p.synced
	whenSynced.Store(&synced)
	t.Cleanup(func() { whenSynced.Store(nil) })
	return p
}

func (p *platter) synced(f *os.File) {
	path := f.Name()
	if path != p.root && !strings.HasPrefix(path, p.root+"/") {
		return // somebody else's
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	entries, err := os.ReadDir(path)
	if err == nil {
		p.names[path] = nil
		for _, e := range entries {
			p.names[path] = append(p.names[path], e.Name())
		}
		return
	}
	if text, err := os.ReadFile(path); err == nil {
		p.before[path], p.texts[path] = p.texts[path], text
	}
}

// restore makes in another place what is left. A file whose name is left but no text is empty.
func (p *platter) restore(t *testing.T, path, to string) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	if !info.IsDir() {
		if err := os.WriteFile(to, p.texts[path], 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range p.names[path] {
		p.restore(t, filepath.Join(path, name), filepath.Join(to, name))
	}
}

// What must survive a power failure is on the disk before anybody is told of it: the directory and its record, a ceiling above
// every token, and a minimum hold.
func TestPowerFailure(t *testing.T) {
	for _, boots := range [][2]string{{"a", "b"}, {"", ""}} {
		root := t.TempDir()
		p := newPlatter(t, root)
		dir := filepath.Join(root, "above", "store")
		before := opened(t, dir, booted(boots[0]))
		kept := take(t, before, ask("kept", driver.Exclusive, keeping(time.Hour)))
		p.mu.Lock() // now, with nothing synced later
		first := newDir(t)
		p.restore(t, root, first)
		p.mu.Unlock()
		top := kept.Token
		for range 2*tokenReserve/tokenBlock + 1 {
			r, err := openRecord(t.Context(), nil, dir, false)
			if err != nil {
				t.Fatal(err)
			}
			if _, top, err = r.take(); err != nil {
				t.Fatal(err)
			}
			r.close()
		}
		kill(before)
		second := newDir(t)
		p.restore(t, root, second)
		for when, place := range map[string]string{"at once": first, "later": second} {
			after := opened(t, filepath.Join(place, "above", "store"), booted(boots[1]))
			if after.identity != before.identity {
				t.Errorf("boots %q, %s: the record was lost", boots, when)
			}
			if h := taken(t, after, "kept").Holders[0]; !h.Kept || h.Token != kept.Token {
				t.Errorf("boots %q, %s: it is held by %+v; want it kept, with token %d", boots, when, h, kept.Token)
			}
			if g := take(t, after, ask("x", driver.Exclusive)); when == "later" && g.Token < top {
				t.Errorf("boots %q: token %d after a power failure; tokens up to %d were given before", boots, g.Token, top)
			}
		}
	}
}

// A power failure while a lock's file is written leaves some sectors of the new text and some of the old one. A minimum hold that was
// granted is still there, whatever was written since and however long the file is.
func TestPowerFailureTearsText(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 12))
	dir := newDir(t)
	p := newPlatter(t, dir)
	before := opened(t, dir, booted("a"))
	label := func(r *driver.Request) { r.Label = strings.Repeat("l", 300) }
	first := ask("x", driver.Exclusive)
	take(t, before, first)
	keeper := ask("x", driver.Exclusive, keeping(time.Hour), label)
	queued := queue(t, before, keeper)
	for range 10 { // several pages
		queue(t, before, ask("x", driver.Exclusive, label))
	}
	free(t, before, first)
	token := queued.granted().Token
	path := before.dir.lockPath(keyOf("x", driver.Exclusive))
	record := readFile(t, filepath.Join(dir, recordName))
	for step := range 6 {
		if step == 3 {
			free(t, before, keeper) // it is kept
		} else {
			queue(t, before, ask("x", driver.Exclusive, label))
		}
		p.mu.Lock()
		synced, last, now := p.before[path], p.texts[path], readFile(t, path)
		p.mu.Unlock()
		for range 15 {
			for what, pair := range map[string][2][]byte{"while it is written": {synced, last}, "afterwards": {last, now}} {
				ruin := newDir(t)
				putFiles(t, ruin, map[string][]byte{recordName: record, "locks/" + filepath.Base(path): tear(random, pair[0], pair[1])})
				after := opened(t, ruin, booted("b"))
				if h := taken(t, after, "x").Holders[0]; !h.Kept || h.Token != token {
					t.Fatalf("seed %d, step %d, %s: it is held by %+v; want it kept, with token %d", seed, step, what, h, token)
				}
				after.Close()
			}
		}
	}
	kill(before)
}

// tear is a file of which some sectors are still the old ones.
func tear(random *rand.Rand, old, new []byte) []byte {
	const sector = 512
	disk := append([]byte(nil), new...)
	for at := 0; at < len(old); at += sector {
		if end := min(at+sector, len(old)); random.IntN(2) == 0 {
			copy(disk[at:end], old[at:end])
		}
	}
	return disk
}

func putFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// What is kept of a lock's file after a restart is synced: the next change goes where the text before it is.
func TestRecoveryIsSynced(t *testing.T) {
	dir := newDir(t)
	before := opened(t, dir, booted("a"))
	take(t, before, ask("x", driver.Exclusive, keeping(time.Hour)))
	path := before.dir.lockPath(keyOf("x", driver.Exclusive))
	kill(before)
	p := newPlatter(t, dir)
	opened(t, dir, booted("b"))
	p.mu.Lock()
	defer p.mu.Unlock()
	if string(p.texts[path]) != string(readFile(t, path)) {
		t.Error("the lock's file was not synced after a restart")
	}
}
