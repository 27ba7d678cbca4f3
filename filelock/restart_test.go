package filelock

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// booted is a time of the machine: opening with another one is a restart in between. "" is a system that does not tell.
func booted(id string) config { return config{boot: id} }

// Tokens rise across processes and restarts, whatever files are removed.
func TestTokensRise(t *testing.T) {
	dir := newDir(t)
	top := uint64(0)
	for round, boot := range []string{"a", "a", "b", "b", "", "", "c", ""} {
		st := opened(t, dir, booted(boot))
		for _, name := range []string{"x", "y", "x"} {
			for range 70 { // more than one block
				r := ask(name, driver.Exclusive)
				g := take(t, st, r)
				if name == "x" && g.Token <= top {
					t.Fatalf("round %d: token %d after %d", round, g.Token, top)
				}
				if name == "x" {
					top = g.Token
				}
				free(t, st, r)
			}
		}
		if err := os.RemoveAll(st.dir.lockPath(keyOf("x", driver.Exclusive))); err != nil {
			t.Fatal(err)
		}
		r := ask("x", driver.Exclusive)
		if g := take(t, st, r); g.Token <= top {
			t.Fatalf("round %d: token %d after %d, when the file was removed", round, g.Token, top)
		}
		st.Close()
	}
}

// The ceiling is on the disk before a token below it is given: a power failure may bring back an older text of the rest of the
// record, or lose it.
func TestCeilingIsDurable(t *testing.T) {
	dir := newDir(t)
	opened(t, dir, booted("a")).Close()
	path := filepath.Join(dir, recordName)
	old := takeTokens(t, dir, 1)
	stale := readFile(t, path)
	top := takeTokens(t, dir, 3*tokenReserve/tokenBlock)
	if top <= old {
		t.Fatalf("tokens up to %d after %d", top, old)
	}
	durable := readFile(t, path)[:countBase]
	for what, count := range map[string][]byte{"an older count": stale[countBase:], "no count": nil} {
		if err := os.WriteFile(path, append(slices.Clone(durable), count...), 0o600); err != nil {
			t.Fatal(err)
		}
		after := opened(t, dir, booted("b"))
		if g := take(t, after, ask("x", driver.Exclusive)); g.Token < top {
			t.Errorf("%s: token %d after a restart; tokens up to %d were given before", what, g.Token, top)
		}
		after.Close()
	}
}

// takeTokens takes blocks from the record, and returns the end of the last.
func takeTokens(t *testing.T, dir string, blocks int) (top uint64) {
	t.Helper()
	for range blocks {
		r, err := openRecord(t.Context(), nil, dir, false)
		if err != nil {
			t.Fatal(err)
		}
		from, end, err := r.take()
		if err != nil || from < top || end > r.ceiling {
			t.Fatalf("tokens from %d to %d, below a ceiling of %d: %v", from, end, r.ceiling, err)
		}
		top = end
		r.close()
	}
	return top
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A restart of the machine ends what was held and waited for, and nothing is left of it.
func TestRestartEndsHolds(t *testing.T) {
	dir := newDir(t)
	before := opened(t, dir, booted("a"))
	take(t, before, ask("x", driver.Exclusive))
	take(t, before, ask("s", driver.Permits, permits(2, 3)))
	w := queue(t, before, ask("x", driver.Exclusive))
	kill(before)
	w.failed()
	after := opened(t, dir, booted("b"))
	take(t, after, ask("x", driver.Exclusive, noWait))
	take(t, after, ask("s", driver.Permits, permits(3, 3), noWait))
	after.Close()
	isEmpty(t, dir)
}

// Minimum holds survive a restart, by wall time.
func TestRestartKeeps(t *testing.T) {
	for _, boots := range [][2]string{{"a", "b"}, {"", ""}} {
		dir := newDir(t)
		before := opened(t, dir, booted(boots[0]))
		const keep = time.Hour
		long := take(t, before, ask("long", driver.Exclusive, keeping(keep)))
		take(t, before, ask("short", driver.Exclusive, keeping(time.Nanosecond)))
		kill(before)
		after := opened(t, dir, booted(boots[1]))
		h := taken(t, after, "long").Holders[0]
		if !h.Kept || h.Token != long.Token || h.Left <= 0 || h.Left > keep {
			t.Errorf("after a restart it is held by %+v; want it kept for at most %v", h, keep)
		}
		take(t, after, ask("short", driver.Exclusive, noWait))
		if err := after.Break(t.Context(), &driver.BreakRequest{Name: "long", Token: long.Token, Now: true}); err != nil {
			t.Errorf("Break of what is kept: %v", err)
		}
		if g := take(t, after, ask("long", driver.Exclusive, noWait)); g.Token <= long.Token {
			t.Errorf("token %d after %d", g.Token, long.Token)
		}
	}
}

// A wall clock that was set back does not make a minimum hold longer than it was.
func TestReviveIsBounded(t *testing.T) {
	hour := int64(time.Hour)
	kept := func() *state {
		return &state{name: "x", holders: []*entry{{phase: holding, client: "c", attempt: "a", keep: time.Hour, until: 7, wall: 10 * hour, token: 3}}}
	}
	for _, c := range []struct {
		wall int64
		left time.Duration
	}{{9*hour + 1, time.Hour - 1}, {0, time.Hour}, {10 * hour, 0}, {20 * hour, 0}} {
		s := kept()
		n := s.revive(moment{now: 100, wall: c.wall})
		if c.left == 0 {
			if n != 0 || !s.empty() {
				t.Errorf("at %d: it is kept, though it is over", c.wall)
			}
			continue
		}
		if n != 1 || s.holders[0].phase != 'k' || s.holders[0].client != "" || s.holders[0].until != stamp(100).add(c.left) {
			t.Errorf("at %d: %+v; want it kept for %v", c.wall, s.holders[0], c.left)
		}
	}
}

// Somebody is alive: then the machine was not restarted, whatever the boot id says.
func TestNoRestartWhileSomebodyLives(t *testing.T) {
	dir := newDir(t)
	before := opened(t, dir, booted("a"))
	take(t, before, ask("x", driver.Exclusive))
	taken(t, opened(t, dir, booted("b")), "x")
}

// What a power failure leaves of files that were never synced does no harm.
func TestRestartWithRuins(t *testing.T) {
	dir := newDir(t)
	before := opened(t, dir, booted("a"))
	for _, name := range []string{"zeros", "short", "torn", "foreign"} {
		r := ask(name, driver.Exclusive)
		take(t, before, r)
	}
	path := func(name string) string { return before.dir.lockPath(keyOf(name, driver.Exclusive)) }
	kill(before)
	torn := readFile(t, path("torn"))
	torn[20] ^= 1 // its only header
	for name, text := range map[string][]byte{"zeros": make([]byte, 4096), "short": nil, "torn": torn, "foreign": []byte("somebody's")} {
		if err := os.WriteFile(path(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	after := opened(t, dir, booted("b"))
	for _, name := range []string{"zeros", "short", "torn"} {
		take(t, after, ask(name, driver.Exclusive, noWait))
	}
	if text, err := os.ReadFile(path("foreign")); err != nil || string(text) != "somebody's" {
		t.Errorf("a foreign file: %q, %v", text, err)
	}
}

// A power failure brings back the text of a lock's file that was last synced, with tokens to give away that were given meanwhile:
// none of them is given again.
func TestRestartGivesTokensUp(t *testing.T) {
	for _, boots := range [][2]string{{"a", "b"}, {"", ""}} {
		dir := newDir(t)
		before := opened(t, dir, booted(boots[0]))
		take(t, before, ask("s", driver.Permits, permits(1, 10), keeping(time.Hour)))
		path := before.dir.lockPath(keyOf("s", driver.Permits))
		synced := readFile(t, path)
		top := uint64(0)
		for range 5 {
			top = take(t, before, ask("s", driver.Permits, permits(1, 10))).Token
		}
		kill(before)
		if err := os.WriteFile(path, synced, 0o600); err != nil {
			t.Fatal(err)
		}
		after := opened(t, dir, booted(boots[1]))
		if g := take(t, after, ask("s", driver.Permits, permits(1, 10))); g.Token <= top {
			t.Errorf("boots %q: token %d after a power failure; tokens up to %d were given before", boots, g.Token, top)
		}
	}
}

// Who cannot tell whether the machine was restarted, because it has no /proc, leaves the holds of a client alone that may be alive.
func TestUnknownBootLeavesOddClients(t *testing.T) {
	for _, boots := range [][2]string{{"a", ""}, {"", "b"}, {"", ""}, {"a", "a"}} {
		dir := newDir(t)
		holder := opened(t, dir, booted(boots[0]))
		path := filepath.Join(dir, recordName)
		stale := readFile(t, path)[countBase:]
		r := ask("x", driver.Exclusive)
		top := take(t, holder, r).Token
		if boots[0] != boots[1] { // perhaps the power failed: then the count may be older than the tokens
			if err := os.WriteFile(path, append(readFile(t, path)[:countBase], stale...), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		alive := holder.dir.clientPath(holder.id, aliveName)
		if err := os.Rename(alive, alive+".away"); err != nil {
			t.Fatal(err)
		}
		other := opened(t, dir, booted(boots[1]))
		if g, err := other.Acquire(t.Context(), ask("x", driver.Exclusive, noWait)); err == nil {
			t.Errorf("boots %q: the lock of a living client was granted to another one, with token %d", boots, g.Token)
		}
		if g := take(t, other, ask("y", driver.Exclusive)); g.Token <= top {
			t.Errorf("boots %q: token %d after %d", boots, g.Token, top)
		}
		if err := os.Rename(alive+".away", alive); err != nil {
			t.Fatal(err)
		}
		free(t, holder, r)
		take(t, other, ask("x", driver.Exclusive))
	}
}
