package filelock

import (
	"os"
	"strings"
	"testing"

	"holdfast.dev/driver"
)

// A blank file in a lock's place is somebody else's: it is refused, for every purpose, and neither written to nor removed.
func TestBlankFileIsForeign(t *testing.T) {
	for what, content := range map[string]string{"nothing": "", "zeros": strings.Repeat("\x00", 4096), "a beginning": lockMagic[:9]} {
		t.Run(what, func(t *testing.T) {
			dir := newDir(t)
			st := opened(t, dir)
			path := st.dir.lockPath(keyOf("x", driver.Exclusive))
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, acquire := st.Acquire(t.Context(), ask("x", driver.Exclusive))
			_, inspect := st.Inspect(t.Context(), "x", driver.Exclusive)
			for call, err := range map[string]error{
				"Acquire": acquire, "Inspect": inspect,
				"Break": st.Break(t.Context(), &driver.BreakRequest{Name: "x", Mode: driver.Exclusive, Token: 1}),
			} {
				if err == nil || !strings.Contains(err.Error(), "it is empty") || !strings.Contains(err.Error(), "remove it") {
					t.Errorf("%s: %v; want it to say that the file is empty, and what to do", call, err)
				}
			}
			kill(opened(t, dir))
			opened(t, dir).Close() // sweeps
			if got := readFile(t, path); string(got) != content {
				t.Errorf("it was changed, to %q", got)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			take(t, st, ask("x", driver.Exclusive, noWait))
		})
	}
}

// A maker that is killed, before or after the file has its name, is in nobody's way, and nothing is left of it.
func TestKilledMaker(t *testing.T) {
	for _, step := range []string{"before it is named", "when it is named"} {
		for _, next := range []string{"Acquire", "Inspect", "Open"} {
			t.Run(step+", "+next, func(t *testing.T) {
				dir := newDir(t)
				maker, other := opened(t, dir), opened(t, dir)
				r := ask("x", driver.Exclusive)
				take(t, maker, r)
				free(t, maker, r)
				path, making := maker.dir.lockPath(keyOf("x", driver.Exclusive)), maker.dir.clientPath(maker.id, makingName)
				name := os.Link
				if step == "before it is named" {
					name = os.Rename
				}
				if err := name(path, making); err != nil {
					t.Fatal(err)
				}
				kill(maker)
				switch next {
				case "Acquire":
					r := ask("x", driver.Exclusive, noWait)
					take(t, other, r)
					free(t, other, r)
				case "Inspect":
					if info := look(t, other, "x"); len(info.Holders) != 0 {
						t.Errorf("it is held by %v", info.Holders)
					}
				}
				opened(t, dir).Close()
				other.Close()
				isEmpty(t, dir)
			})
		}
	}
}

// Who is second to make a file uses the one that is there, and whoever makes one checks the claims, though somebody else died before
// doing so.
func TestFreshFile(t *testing.T) {
	dir := newDir(t)
	holder, maker, other := opened(t, dir), opened(t, dir), opened(t, dir)
	held := ask("x", driver.Exclusive)
	take(t, holder, held)
	path := holder.dir.lockPath(keyOf("x", driver.Exclusive))
	if err := os.Remove(path); err != nil { // by hand, while it is held
		t.Fatal(err)
	}
	maker.mu.Lock()
	lk := maker.lockOf("x", driver.Exclusive)
	maker.mu.Unlock()
	if err := lk.make(); err != nil {
		t.Fatal(err)
	}
	fresh := readFile(t, path)
	if err := lk.make(); err != nil || string(readFile(t, path)) != string(fresh) {
		t.Errorf("the second time: %v; want the file that is there", err)
	}
	kill(maker)
	if _, err := other.Acquire(t.Context(), ask("x", driver.Exclusive, noWait)); err == nil || !strings.Contains(err.Error(), "removed while") {
		t.Errorf("Acquire: %v; want it to say that the file was removed while it was held", err)
	}
	free(t, holder, held)
	take(t, other, ask("x", driver.Exclusive))
}
