package locktest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

var names = topic{"names", []casus{
	{"different", 0, differentNames,
		"N: different names are different locks"},
	{"random", 0, randomNames,
		"N: different names are different locks: random ones, from a printed seed"},
	{"bad", 0, badNames,
		"N: a name that is empty, too long, not UTF-8 or has control characters is ErrName, and the store is not touched"},
	{"entries", 0, badNamesEverywhere,
		"N: a bad name is ErrName on every way in"},
	{"prefix", 0, prefixedNames,
		"N: a lock whose name begins with another's is not that other"},
}}

// nasty names: each of them means something special somewhere, or looks like another one.
var nasty = slices.Concat(
	// Paths.
	[]string{"a", "A", "a ", " a", "a/", "/a", "//a", "a/b", "a/B", "a//b", ".", "..", "../x", "x/../x", "x", "./x", "a.", "a..b"},
	// Patterns, escapes.
	[]string{"*", "?", "[a]", "a*", "%", "%%", "_", "a%2fb", "a%2Fb", "%61", "\\", "a\\b", "a\\/b"},
	// Separators.
	[]string{"{a}", "{a}b", "{}a", "{", "}", "a:b", "a::b", ":", "a|b", "a&b", "a;b", "a,b", "a=b", "#", "a#b", "@", "!", "+"},
	// Commands.
	[]string{"'; drop table locks; --", "'", "''", "\"", "`", "$(x)", "${x}", "$1", "<a>", "~", "-", "--help"},
	// Values.
	[]string{"null", "NULL", "nil", "true", "0", "00", "-1", "1e3", "con", "NUL", "aux.txt"},
	// Case, accents.
	[]string{"é", "e\u0301", "É", "ß", "ss", "ſ", "s", "i", "ı", "I", "İ", "K", "\u212a", "k", "Å", "\u212b", "å", "ä", "a\u0308"},
	// Other scripts.
	[]string{"日本", "日 本", "ａ", "🔒", "🔓", "\u00a0", "\u200b", "a\u200b", "\ufeff", "\u202e", "\U0010ffff", "\ufffd"},
)

// longNames differ only where a store that cuts names off would not look.
func longNames() []string {
	full := strings.Repeat("x", driver.MaxName-1)
	wide := strings.Repeat("é", driver.MaxName/2-1)
	return []string{
		full, full + "x", full + "y", full + "X", wide, wide + "é", wide + "ê",
		strings.Repeat("🔒", driver.MaxName/4), strings.Repeat("/", driver.MaxName),
	}
}

func differentNames(t *trial) {
	if !atTheEdges(t) {
		return
	}
	holdAllAtOnce(t, append(longNames(), nasty...))
}

// atTheEdges checks the list itself: names that are equal, or bad, would make a correct store fail.
func atTheEdges(t *trial) bool {
	seen := make(map[string]bool)
	for _, name := range append(longNames(), nasty...) {
		if err := driver.CheckName(name); err != nil || seen[name] {
			t.Errorf("locktest's own list of names: %q: twice %v, %v", name, seen[name], err)
		}
		seen[name] = true
	}
	return !t.Failed()
}

// holdAllAtOnce holds the locks of all names together: two names that are one lock would be taken.
func holdAllAtOnce(t *trial, all []string) {
	t.Helper()
	a, b := t.open(), t.open()
	held := make([]*driver.Request, len(all))
	for i, name := range all {
		held[i] = t.ask(name)
		held[i].NoWait = true
		a.tidy(held[i])
		if _, err := a.Acquire(t.ctx, held[i]); err != nil {
			t.Fatalf("lock %q is free, but its Acquire answered: %v; so it shares a lock with one of the names before it", name, err)
		}
	}
	for i, name := range all {
		r := t.ask(name)
		r.NoWait = true
		if _, err := b.Acquire(t.ctx, r); !errors.As(err, new(*driver.Held)) {
			t.Fatalf("lock %q is held, but another Acquire answered: %v", name, err)
		}
		t.showsName(b, name)
		a.release(held[i])
	}
}

// showsName checks that a store that can show a lock shows it by its own name.
func (t *trial) showsName(c *client, name string) {
	t.Helper()
	inspector, ok := c.Store.(driver.Inspector)
	if !ok {
		return
	}
	info, err := inspector.Inspect(t.ctx, name, driver.Exclusive)
	if err != nil {
		t.Fatalf("Inspect of %q: %v", name, err)
	}
	if info.Name != name || len(info.Holders) != 1 {
		t.Fatalf("Inspect of %q shows %q with %d holders; it has one", name, info.Name, len(info.Holders))
	}
}

func randomNames(t *trial) {
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	unique := make(map[string]bool)
	for len(unique) < 100 {
		if name := randomName(random); driver.CheckName(name) == nil {
			unique[t.prefix[:len(t.prefix)-1]+name] = true
		}
	}
	var all []string
	for name := range unique {
		if len(name) <= driver.MaxName {
			all = append(all, name)
		}
	}
	holdAllAtOnce(t, all)
}

// randomName puts few different letters together, so that names are often alike but for one.
func randomName(random *rand.Rand) string {
	letters := []rune("aA/.%_*:-~ é\u0301{}\\'x0")
	var b strings.Builder
	for range 1 + random.IntN(4) {
		b.WriteRune(letters[random.IntN(len(letters))])
	}
	return b.String()
}

// bad names, each for a reason of its own.
var bad = []string{
	"", strings.Repeat("x", driver.MaxName+1), strings.Repeat("é", driver.MaxName/2) + "x", strings.Repeat("x", 10_000),
	"a\nb", "\r\nset victim 0 0 1", "a\x00", "\x00", "\t", "a\x7f", "\x1b[2J", "\u0085",
	"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\xaf",
}

func badNames(t *trial) {
	c := t.open()
	for _, name := range bad {
		r := t.ask(name)
		if _, err := c.Acquire(t.ctx, r); !errors.Is(err, driver.ErrName) || !driver.Answered(err) {
			t.Errorf("Acquire of %.20q: %v; the answer must be ErrName", name, err)
		}
		if err := c.releaseError(r); !errors.Is(err, driver.ErrName) && !errors.Is(err, driver.ErrGone) {
			t.Errorf("Release of %.20q: %v; the answer must be ErrName or ErrGone", name, err)
		}
		if inspector, ok := c.Store.(driver.Inspector); ok {
			if _, err := inspector.Inspect(t.ctx, name, driver.Exclusive); !errors.Is(err, driver.ErrName) {
				t.Errorf("Inspect of %.20q: %v; the answer must be ErrName", name, err)
			}
		}
		if breaker, ok := c.Store.(driver.Breaker); ok {
			err := breaker.Break(t.ctx, &driver.BreakRequest{Name: name, Mode: driver.Exclusive, Token: 1})
			if !errors.Is(err, driver.ErrName) {
				t.Errorf("Break of %.20q: %v; the answer must be ErrName", name, err)
			}
		}
	}
}

func badNamesEverywhere(t *trial) {
	locks := t.locks()
	for _, name := range bad {
		_, lock := locks.Mutex(name).Lock(t.ctx)
		_, try := locks.Mutex(name).TryLock(t.ctx)
		do := locks.Do(t.ctx, name, func(context.Context) error {
			t.Errorf("Do ran its function under the name %.20q", name)
			return nil
		})
		_, inspect := locks.Inspect(t.ctx, name)
		for what, err := range map[string]error{
			"Lock": lock, "TryLock": try, "Do": do, "Inspect": inspect, "Break": locks.Break(t.ctx, name, 1),
		} {
			if !errors.Is(err, holdfast.ErrName) {
				t.Errorf("%s of %.20q: %v; it must be ErrName", what, name, err)
			}
		}
		if _, ok := locks.Held(t.ctx, name); ok {
			t.Errorf("Held finds a hold of %.20q", name)
		}
	}
}

func prefixedNames(t *trial) {
	a, b := t.open(), t.open()
	parent, child := t.ask(t.name("a")), t.ask(t.name("a/b"))
	a.free(child)
	b.free(parent)
	a.release(child)
	b.taken(t.ask(parent.Name))
	a.free(t.ask(child.Name))
}

// FuzzNames lets the fuzzer look for two names that share a lock, and for bad names that reach the store. A driver's fuzz test is
// one line:
//
//	func FuzzNames(f *testing.F) { locktest.FuzzNames(f, harness) }
func FuzzNames(f *testing.F, h Harness) {
	f.Helper()
	pairs := [][2]string{{"a", "A"}, {"a", "a/"}, {"a", "a\x00"}, {"é", "e\u0301"}, {"%", "%25"}, {"../a", "a"}, {"", "*"}}
	for _, pair := range pairs {
		f.Add(pair[0], pair[1])
	}
	address := ""
	if h.Start != nil {
		address = h.Start(f)
	}
	attempts := driver.NewAttempts()
	f.Fuzz(func(t *testing.T, first, second string) {
		ctx, cancel := context.WithTimeout(t.Context(), patience())
		defer cancel()
		store, err := h.Open(ctx, address)
		if err != nil {
			t.Fatalf("Harness.Open: %v", err)
		}
		defer store.Close()
		for i, name := range []string{first, second} {
			if i == 1 && name == first {
				return
			}
			r := &driver.Request{Name: name, Attempt: attempts.Next(), Mode: driver.Exclusive, TTL: time.Minute, NoWait: true}
			_, err := store.Acquire(ctx, r)
			if valid := driver.CheckName(name) == nil; valid && err != nil {
				t.Fatalf("N: %q is free, but its Acquire answered %v; does it share a lock with %q?", name, err, first)
			} else if !valid && !errors.Is(err, driver.ErrName) {
				t.Fatalf("N: Acquire of %q: %v; the answer must be ErrName", name, err)
			}
			defer store.Release(context.WithoutCancel(ctx), r)
		}
	})
}
