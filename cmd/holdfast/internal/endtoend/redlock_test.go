//go:build linux

package endtoend_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
)

// newRedlock makes a world whose store is a majority of so many Redis servers of its own, which have no guard.
func newRedlock(t *testing.T, n int) (*world, []*servers.Redis) {
	t.Helper()
	w := newWorld(t)
	var nodes []*servers.Redis
	var addresses []string
	for range n {
		server, err := servers.StartRedis(t.Context())
		servers.Need(t, err)
		t.Cleanup(func() { server.Close() })
		nodes, addresses = append(nodes, server), append(addresses, server.Addr())
	}
	w.storeAt("redlock://" + strings.Join(addresses, ",") + "?guard=0&node-timeout=1s") // the machine may be busy
	t.Cleanup(w.clear)                                                                  // before the servers end: cleanups run backwards
	return w, nodes
}

// run, ls, inspect and break, each from a process of its own, while one of three nodes is gone.
func TestRedlockCommands(t *testing.T) {
	t.Parallel()
	w, nodes := newRedlock(t, 3)
	nodes[1].Kill()
	client := w.client()
	r := w.start("holdfast", "run", "--label", "me", "x", "--", "actor", w.journal, "a")
	w.cast("a", 1)
	token := w.tokenOf(client, "x")
	next := w.start("holdfast", "run", "-v", "x", "--", "sh", "-c", "echo $HOLDFAST_NAME $HOLDFAST_TOKEN")
	w.printed(next, "held since")
	if got := w.holdfast(1, "run", "-n", "x", "--", "true"); !contains(got.errors, " me\"") || !contains(got.errors, fmt.Sprint("token ", token)) {
		t.Errorf("-n says %q", got.errors)
	}
	if rows := strings.Split(w.holdfast(0, "ls").out, "\n"); len(rows) != 3 || !contains(rows[1], " me ") || !contains(rows[1], fmt.Sprint(token)) {
		t.Errorf("ls shows %q", rows)
	}
	if got := w.holdfast(0, "inspect", "x"); !contains(got.out, fmt.Sprint(token)) {
		t.Errorf("inspect shows %q, without token %d", got.out, token)
	}
	w.holdfast(0, "break", "x", "--token", fmt.Sprint(token))
	r.ends(75)
	name, after, _ := strings.Cut(strings.TrimSpace(next.ends(0).out), " ")
	if rises, err := strconv.ParseUint(after, 10, 64); name != "x" || err != nil || rises <= token {
		t.Errorf("the next one ran under %q with token %q, want x and more than %d", name, after, token)
	}
	if got := w.holdfast(0, "ls"); got.out != "" {
		t.Errorf("ls shows %q when all have ended", got.out)
	}
}

// A majority is gone: the command is ended, because nothing renews its lock, and whoever comes is told what each node says.
func TestRedlockWithoutAMajority(t *testing.T) {
	t.Parallel()
	w, nodes := newRedlock(t, 3)
	r := w.start("holdfast", "run", "--ttl", "3s", "x", "--", "actor", "-survive", "-beat", w.journal, "a")
	w.cast("a", 1)
	nodes[0].Kill()
	nodes[2].Kill()
	if got := r.ends(75); !contains(got.errors, "lost") {
		t.Errorf("it says %q", got.errors)
	}
	for _, args := range [][]string{{"run", "-n", "x", "--", "true"}, {"ls"}, {"inspect", "x"}} {
		got := w.holdfast(69, args...)
		for _, part := range []string{"2 are needed", nodes[0].Addr() + ": ", nodes[1].Addr() + ": connected", nodes[2].Addr() + ": "} {
			if !contains(got.errors, part) {
				t.Errorf("%q says %q, without %q", args, got.errors, part)
			}
		}
	}
}

// What a majority of servers cannot do is refused, and says so: readers, permits, minimum holds.
func TestRedlockIsForOneAtATime(t *testing.T) {
	t.Parallel()
	w, _ := newRedlock(t, 1)
	for flag, want := range map[string]string{"-s": "no shared locks", "--limit=3": "no permits", "--min-hold=1m": "cannot keep a lock"} {
		if got := w.holdfast(64, "run", "-n", flag, "x", "--", "actor", w.journal, "never"); !contains(got.errors, want) {
			t.Errorf("%s: it says %q, want %q", flag, got.errors, want)
		}
	}
	w.isFree("x")
	if got := w.entries(); len(got) > 0 {
		t.Errorf("a command ran: %v", got)
	}
}

// An even number of nodes works, and whoever opens the store is warned, once, unless nothing is to be said.
func TestRedlockEven(t *testing.T) {
	t.Parallel()
	w, _ := newRedlock(t, 2)
	const warning = "holdfast: warning: the number of nodes is even: of 2 no more may be lost than of 1, none either way; add one, or leave one out\n"
	for _, args := range [][]string{{"run", "x", "--", "true"}, {"inspect", "x"}, {"ls"}, {"ls", "--json"}} {
		if got := w.holdfast(0, args...); strings.Count(got.errors, warning) != 1 || contains(got.out, "warning") {
			t.Errorf("%q prints %q, %q", args, got.out, got.errors)
		}
	}
	for _, args := range [][]string{{"run", "-q", "x", "--", "true"}, {"inspect", "-q", "x"}, {"ls", "-q"}} {
		if got := w.holdfast(0, args...); got.errors != "" {
			t.Errorf("%q prints %q", args, got.errors)
		}
	}
}

// The rights that docs/stores/redlock.md names are enough for everything that the program does, in a store with a prefix.
func TestRedlockUser(t *testing.T) {
	t.Parallel()
	w, nodes := newRedlock(t, 3)
	rights := append([]string{"ACL", "SETUSER", "locks", "on", ">secret", "~locks:*", "&locks:holdfast:redlock:*", "-@all"}, shownRights(t)...)
	for _, n := range nodes {
		if _, err := n.Do(t.Context(), rights...); err != nil {
			t.Fatal(err)
		}
	}
	w.storeAt(strings.Replace(w.store, "redlock://", "redlock://locks:secret@", 1) + "&prefix=locks:&ttl=2s")
	client := w.client()
	r := w.start("holdfast", "run", "x", "--", "actor", "-beat", w.journal, "a")
	w.cast("a", 1)
	begun := w.last("a")
	next := w.start("holdfast", "run", "-v", "x", "--", "true")
	w.printed(next, "held since")
	until(t, "it was renewed", func() bool { return w.last("a") > begun+3*time.Second })
	if got := w.holdfast(0, "ls"); !contains(got.out, "actor") {
		t.Errorf("ls shows %q", got.out)
	}
	w.holdfast(0, "inspect", "x")
	w.holdfast(0, "break", "x", "--token", fmt.Sprint(w.tokenOf(client, "x")))
	r.ends(75)
	next.ends(0)
	w.holdfast(0, "run", "x", "--", "true")
	for _, n := range nodes {
		if denied, err := n.Do(t.Context(), "ACL", "LOG"); err != nil || fmt.Sprint(denied) != "[]" {
			t.Errorf("%s has denied something: %v, %v", n.Addr(), denied, err)
		}
	}
}

// shownRights are the commands that the page tells to permit.
func shownRights(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/stores/redlock.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), " -@all \\\n")
	text, _, found := strings.Cut(text, "; done\n")
	if !found {
		t.Fatal("the page tells no rights")
	}
	return slices.DeleteFunc(strings.Fields(strings.ReplaceAll(text, "'", "")), func(word string) bool { return !strings.HasPrefix(word, "+") })
}
