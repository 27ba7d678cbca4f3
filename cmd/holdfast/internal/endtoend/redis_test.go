//go:build linux

package endtoend_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"holdfast.dev/locktest/servers"
)

// newRedisWorld makes a world whose store is a Redis of its own, which has no guard.
func newRedisWorld(t *testing.T) *world {
	t.Helper()
	w, _ := newRedis(t, "guard=0")
	return w
}

// newRedis makes a world whose store is a Redis of its own, with these parameters in its URL.
func newRedis(t *testing.T, params string, options ...servers.RedisOption) (*world, *servers.Redis) {
	t.Helper()
	w := newWorld(t)
	server, err := servers.StartRedis(t.Context(), options...)
	servers.Need(t, err)
	t.Cleanup(func() { server.Close() })
	w.storeAt("redis://" + server.Addr() + "?" + params)
	t.Cleanup(w.clear) // before the server ends: cleanups run backwards
	return w, server
}

// storeAt names the store, in the environment.
func (w *world) storeAt(url string) {
	w.store = url
	w.env = append(w.env, "HOLDFAST_STORE="+url)
}

// printed waits until a program that goes on has printed this as an error.
func (w *world) printed(r *running, text string) {
	w.t.Helper()
	until(w.t, "it prints "+text, func() bool { return contains(r.printed(w), text) || r.hasEnded() })
	if got := r.printed(w); !contains(got, text) {
		w.t.Errorf("it ended, and printed %q; want %q", got, text)
	}
}

// printed is what it has printed as errors so far.
func (r *running) printed(w *world) string {
	return w.readFile(strings.TrimPrefix(r.err.Name(), w.dir+"/"))
}

// run, ls, inspect and break, each from a process of its own.
func TestRedisCommands(t *testing.T) {
	t.Parallel()
	w := newRedisWorld(t)
	client := w.client()
	r := w.start("holdfast", "run", "--label", "me", "x", "--", "actor", w.journal, "a")
	w.cast("a", 1)
	next := w.start("holdfast", "run", "x", "--", "sh", "-c", "echo $HOLDFAST_NAME $HOLDFAST_TOKEN")
	w.awaitWaiters(client, "x", 1)
	w.holdfast(1, "run", "-n", "x", "--", "true")
	token := w.tokenOf(client, "x")
	if rows := strings.Split(w.holdfast(0, "ls").out, "\n"); len(rows) != 3 || !contains(rows[1], " me ") || !contains(rows[1], fmt.Sprint(token)) {
		t.Errorf("ls shows %q", rows)
	}
	var info struct {
		Lock struct {
			Holders []struct{ Token uint64 }
			Waiters []any
		}
	}
	shown := w.holdfast(0, "inspect", "--json", "x").out
	if err := json.Unmarshal([]byte(shown), &info); err != nil || len(info.Lock.Waiters) != 1 ||
		len(info.Lock.Holders) != 1 || info.Lock.Holders[0].Token != token {
		t.Errorf("inspect shows %s: %v; want one holder, with token %d, and one who waits", shown, err, token)
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

// Whoever came first is served first, each alone, with tokens that rise.
func TestRedisQueue(t *testing.T) {
	t.Parallel()
	w := newRedisWorld(t)
	client := w.client()
	hold, err := client.Mutex("x").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []*running
	var want []string
	for i := range 6 {
		all = append(all, w.start("holdfast", "run", "x", "--", "sh", "-c", fmt.Sprintf("echo $HOLDFAST_TOKEN >>tokens; exec actor -leave $J run%d", i)))
		w.awaitWaiters(client, "x", i+1)
		want = append(want, fmt.Sprint("run", i))
	}
	if err := hold.Unlock(); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		r.ends(0)
	}
	var order []string
	for _, e := range w.entries() {
		order = append(order, e.run)
	}
	if !slices.Equal(order, want) {
		t.Errorf("they ran in the order %q, want %q", order, want)
	}
	if tokens := strings.Fields(w.readFile("tokens")); !slices.IsSortedFunc(tokens, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }) ||
		len(slices.Compact(tokens)) != 6 {
		t.Errorf("the tokens are %q", tokens)
	}
	w.apart()
}

// The server is killed, and stays away: the command is ended before the hold could be anybody else's. When the server is back, with all
// that it had on disk, whoever waited is served.
func TestRedisKilled(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second
	w, server := newRedis(t, "guard=0", servers.RedisSet("appendonly", "yes"), servers.RedisSet("appendfsync", "always"))
	client := w.client()
	r := w.start("holdfast", "run", "--ttl", ttl.String(), "--grace", "2s", "x", "--", "actor", "-survive", "-beat", "-children", "1", w.journal, "a")
	w.cast("a", 2)
	next := w.start("holdfast", "run", "x", "--", "actor", "-leave", w.journal, "next")
	w.awaitWaiters(client, "x", 1)
	killed := bootTime()
	server.Kill()
	if got := r.ends(75); !contains(got.errors, "lost") {
		t.Errorf("it says %q", got.errors)
	}
	if got := w.saw("a", "got TERM"); got != 2 {
		t.Errorf("%d TERM for two processes", got)
	}
	if lived := w.last("a") - killed; lived >= ttl {
		t.Errorf("the command lived for %v without the server; the TTL is %v", lived, ttl)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	next.ends(0)
	w.apart()
}

// A server that is back before the hold runs out, with what it had on disk, costs nobody anything.
func TestRedisRestarted(t *testing.T) {
	t.Parallel()
	w, server := newRedis(t, "guard=0&ttl=10s", servers.RedisSet("appendonly", "yes"), servers.RedisSet("appendfsync", "always"))
	client := w.client()
	r := w.start("holdfast", "run", "x", "--", "actor", "-beat", "-until", w.path("end"), w.journal, "a")
	w.cast("a", 1)
	token := w.tokenOf(client, "x")
	next := w.start("holdfast", "run", "x", "--", "actor", "-leave", w.journal, "next")
	w.awaitWaiters(client, "x", 1)
	killed := bootTime()
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "it has lived for longer than the TTL", func() bool { return w.last("a") > killed+11*time.Second })
	if again := w.tokenOf(client, "x"); again != token {
		t.Errorf("the hold has token %d, and had %d", again, token)
	}
	w.write("end", "")
	r.ends(0)
	next.ends(0)
	w.apart()
}

// A server that is back with nothing: the hold is lost and told, and the guard keeps everybody out until the command is gone.
func TestRedisForgets(t *testing.T) {
	t.Parallel()
	w, server := newRedis(t, "guard=4s&ttl=3s")
	r := w.start("holdfast", "run", "x", "--", "actor", "-survive", "-beat", w.journal, "a")
	w.cast("a", 1)
	next := w.start("holdfast", "run", "x", "--", "actor", "-leave", w.journal, "next")
	w.awaitWaiters(w.client(), "x", 1)
	killed := bootTime()
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.ends(75)
	next.ends(0)
	if began := w.when("next", "start") - killed; began < 4*time.Second {
		t.Errorf("somebody else had the lock %v after the restart; the guard is 4 s", began)
	}
	w.apart()
}

// The program is killed: its command ends at once, and the lock is free when its TTL is over, not before.
func TestRedisProgramKilled(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	w := newRedisWorld(t)
	begin := bootTime()
	r := w.start("holdfast", "run", "--ttl", ttl.String(), "x", "--", "actor", "-stubborn", "-beat", "-children", "1", w.journal, "a")
	actors := w.cast("a", 2)
	next := w.start("holdfast", "run", "x", "--", "actor", "-leave", w.journal, "next")
	client := w.client()
	w.awaitWaiters(client, "x", 1)
	r.kill(unix.SIGKILL)
	r.ends(128 + int(unix.SIGKILL))
	until(t, "its command is dead", func() bool { return !actors[0].alive() && !actors[1].alive() })
	until(t, "the next one has begun", func() bool { // whoever asks makes the server look whether the lock is free
		if hold, err := client.Mutex("x").TryLock(t.Context()); err == nil {
			hold.Unlock()
		}
		return w.saw("next", "start") > 0
	})
	next.ends(0)
	if began := w.when("next", "start") - begin; began < ttl {
		t.Errorf("the next one began %v after the killed one, whose TTL was %v", began, ttl)
	}
	w.apart()
}

// A password that the server does not accept: 69, and what to do. Neither that one nor the right one is shown anywhere.
func TestRedisPassword(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ry-p4ssw0rd"
	w, server := newRedis(t, "guard=0", servers.RedisPassword(canary))
	silent := func(got result) {
		t.Helper()
		if contains(got.out+got.errors, canary) {
			t.Errorf("it shows the password: %q, %q", got.out, got.errors)
		}
	}
	for _, given := range []string{"", ":wrong-" + canary + "@", "stranger:" + canary + "@"} {
		w.storeAt("redis://" + given + server.Addr() + "?guard=0")
		for _, args := range [][]string{{"run", "-n", "x", "--", "true"}, {"run", "x", "--", "true"}, {"ls"}, {"inspect", "x"}, {"break", "x", "--token", "1"}} {
			got := w.holdfast(69, args...)
			if silent(got); !contains(got.errors, "password") {
				t.Errorf("%q says %q", args, got.errors)
			}
		}
	}
	w.storeAt("redis://:" + canary + "@" + server.Addr() + "?guard=0")
	r := w.start("holdfast", "run", "-v", "--ttl", "3s", "x", "--", "actor", w.journal, "a")
	w.cast("a", 1)
	for _, p := range processes(func(p process) bool { return contains(strings.Join(p.args(), " "), canary) }) {
		t.Errorf("the list of processes shows the password: %v", p)
	}
	for _, args := range [][]string{{"ls"}, {"ls", "--json"}, {"inspect", "x"}, {"inspect", "--json", "x"}} {
		silent(w.holdfast(0, args...))
	}
	silent(w.holdfast(1, "run", "-n", "x", "--", "true"))
	server.Kill()
	silent(w.holdfast(69, "run", "-n", "x", "--", "true"))
	silent(r.ends(75))
}

// TLS, with a certificate that only the URL's ca makes known.
func TestRedisTLS(t *testing.T) {
	t.Parallel()
	w, server := newRedis(t, "guard=0", servers.RedisTLS(servers.Flawless))
	if got := w.holdfast(69, "run", "-n", "x", "--", "true"); !contains(got.errors, "rediss://") {
		t.Errorf("without TLS it says %q", got.errors)
	}
	w.storeAt("rediss://" + server.Addr() + "?guard=0")
	if got := w.holdfast(69, "run", "-n", "x", "--", "true"); !contains(got.errors, "ca=") {
		t.Errorf("of an unknown authority it says %q", got.errors)
	}
	w.storeAt("rediss://" + server.Addr() + "?guard=0&ca=" + url.QueryEscape(server.Certificates.CA))
	w.isFree("x")
}

// A server that has just started says at once that it grants nothing, for how long, and what sets that; no terminal is needed for it.
func TestRedisGuardIsTold(t *testing.T) {
	t.Parallel()
	w, _ := newRedis(t, "")
	r := w.start("holdfast", "run", "x", "--", "actor", w.journal, "never")
	w.printed(r, `holdfast: "x": this Redis started `)
	for _, part := range []string{" ago; locks granted before may still be valid: ", " left; guard= sets it"} {
		w.printed(r, part)
	}
	if got := w.holdfast(69, "run", "-n", "x", "--", "true"); !contains(got.errors, "this Redis started ") || !contains(got.errors, "guard=") {
		t.Errorf("-n says %q", got.errors)
	}
	if got := w.holdfast(69, "run", "-q", "-w", "1", "x", "--", "true"); strings.Count(got.errors, "\n") != 1 {
		t.Errorf("-q says %q, want no more than why it ended", got.errors)
	}
	r.kill(unix.SIGTERM)
	r.ends(128 + int(unix.SIGTERM))
	w.hasWaiters(w.client(), "x", 0)
	if got := w.entries(); len(got) > 0 {
		t.Errorf("a command ran while the guard was on: %v", got)
	}
}

// The URL's TTL counts where the command line names none, and says so where it cannot be had.
func TestRedisTTL(t *testing.T) {
	t.Parallel()
	w, server := newRedis(t, "guard=0&ttl=4s")
	client := w.client()
	for given, want := range map[string]time.Duration{"": 4 * time.Second, "--ttl=40s": 40 * time.Second, "--grace=10s": 20 * time.Second} {
		args := []string{"run", "x", "--", "actor", "-until", w.path("end" + given), w.journal, "run" + given}
		if given != "" {
			args = slices.Insert(args, 1, given)
		}
		r := w.start("holdfast", args...)
		w.cast("run"+given, 1)
		info, err := client.Inspect(t.Context(), "x")
		if err != nil || len(info.Holders) != 1 || info.Holders[0].Left > want || info.Holders[0].Left < want/4 {
			t.Errorf("with %q: %+v, %v; want a hold for %v", given, info, err, want)
		}
		w.write("end"+given, "")
		r.ends(0)
	}
	w.storeAt("redis://" + server.Addr() + "?prefix=short:&guard=1s")
	if got := w.holdfast(64, "run", "-n", "--ttl", "5s", "x", "--", "true"); !contains(got.errors, "1s are allowed") {
		t.Errorf("a TTL above the guard: it says %q", got.errors)
	}
	w.holdfast(0, "ls")                     // which takes no lock, and so needs no TTL
	w.holdfast(0, "run", "x", "--", "true") // whose TTL is the guard, if nobody says
	w.holdfast(0, "run", "--ttl", "1s", "x", "--", "true")
}
