package redislock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// A direct is somebody who calls the engine's functions without a client of ours: so it can do what no client does.
type direct struct {
	testing.TB
	server *servers.Redis
	store  string // its id
}

func callDirectly(t testing.TB, server *servers.Redis) *direct {
	t.Helper()
	d := &direct{TB: t, server: server}
	dial(t, server.Addr(), "guard=0") // loads the engine, and sets the store up
	d.store = command(t, server, "HGET", "holdfast:store", "id").(string)
	return d
}

// call calls a function on the lock of that name, and returns its answer.
func (d *direct) call(function, name string, args ...string) []any {
	d.Helper()
	all := []string{"FCALL", redislock.Library + "_" + function, "2", "holdfast:lock:{" + name + "}", "holdfast:store", d.store}
	answer, err := d.server.Do(inTime(d), append(all, args...)...)
	if err != nil {
		d.Fatalf("%s: %v", function, err)
	}
	if token, taken := answer.(int64); taken { // a free lock
		return []any{"G", token}
	}
	return answer.([]any)
}

// acquire asks for the lock as p says, and returns the first word of the answer.
func (d *direct) acquire(name, attempt, how string, p redislock.Packed) string {
	d.Helper()
	return d.call("acquire", name, attempt, fmt.Sprint(p.TTL.Microseconds()), how, p.String())[0].(string)
}

func (d *direct) release(name, attempt string) string {
	d.Helper()
	return d.call("release", name, attempt, withoutKeep, aMinute)[0].(string)
}

// What release is told.
const (
	withoutKeep = "00" // no minimum hold, nothing in doubt
	aMinute     = "60000000"
)

// attemptOf is an attempt of so many equal digits.
func attemptOf(digit string) string { return strings.Repeat(digit, 48) }

// Attempts that no client makes, each of which is a part of two others that stand beside each other, are told apart.
func TestAttemptsThatResembleEachOther(t *testing.T) {
	t.Parallel()
	d := callDirectly(t, startRedis(t))
	resembling := []string{"1" + strings.Repeat("0", 47), attemptOf("0"), strings.Repeat("0", 47) + "1", attemptOf("1")}
	p := redislock.Packed{Mode: "s", TTL: time.Minute, Claim: time.Second, Life: time.Minute}
	for _, last := range resembling {
		for _, a := range resembling {
			if got := d.acquire("lock", a, "leave", p); got != "G" {
				t.Fatalf("a reader: %s", got)
			}
		}
		order := append(slices.DeleteFunc(slices.Clone(resembling), func(a string) bool { return a == last }), last)
		for _, a := range order {
			if got := d.release("lock", a); got != "G" {
				t.Fatalf("its release: %s", got)
			}
		}
		if n := command(t, d.server, "EXISTS", "holdfast:lock:{lock}"); n != int64(0) {
			t.Errorf("a lock that nobody has is there: %v", command(t, d.server, "HGETALL", "holdfast:lock:{lock}"))
		}
	}
}

// A caller that has opened another store, or none, is told so; nothing is done for it.
func TestStoreThatWasNotOpened(t *testing.T) {
	t.Parallel()
	d := callDirectly(t, startRedis(t))
	ours := d.store
	p := redislock.Packed{Mode: "e", TTL: time.Minute, Claim: time.Second, Life: time.Minute}
	for _, id := range []string{"", "another"} {
		d.store = id
		for _, how := range []string{"take", "wait", "look", "leave"} {
			if got := d.acquire("lock", attemptOf("a"), how, p); got != "S" {
				t.Errorf("acquire, %s, for the store %q: %s", how, id, got)
			}
		}
		if got := d.release("lock", attemptOf("a")); got != "S" {
			t.Errorf("release for the store %q: %s", id, got)
		}
		if got := d.call("renew", "lock", attemptOf("a"), "1000000")[0]; got != "S" {
			t.Errorf("renew for the store %q: %s", id, got)
		}
		if got := d.call("break", "lock", "1", "1", "somebody")[0]; got != "S" {
			t.Errorf("break for the store %q: %s", id, got)
		}
	}
	if n := command(t, d.server, "EXISTS", "holdfast:lock:{lock}"); n != int64(0) {
		t.Error("something was done")
	}
	d.store = ours
	if got := d.acquire("lock", attemptOf("a"), "take", p); got != "G" {
		t.Errorf("acquire: %s", got)
	}
}

// listen subscribes to a channel, and answers nothing that comes.
func listen(t *testing.T, server *servers.Redis, channel string) *servers.RedisConn {
	t.Helper()
	conn, err := server.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.Do(inTime(t), "SSUBSCRIBE", channel); err != nil {
		t.Fatal(err)
	}
	return conn
}

// A client that does not claim what it was given is suspect: its other waiters are passed over at once, and not one claim after the other.
func TestSuspects(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	d := callDirectly(t, server)
	s := dial(t, server.Addr(), "guard=0")
	listen(t, server, "holdfast:inbox:dead")
	const claim = time.Second
	holder := ask("lock", "holder", time.Minute)
	take(t, s, holder)
	for i := range 6 {
		p := redislock.Packed{Mode: "e", TTL: time.Minute, Claim: claim, Life: time.Minute, Channel: "holdfast:inbox:dead", ID: fmt.Sprint(i), Label: "dead"}
		if got := d.acquire("lock", attemptOf(fmt.Sprint(i)), "wait", p); got != "W" {
			t.Fatalf("a waiter: %s", got)
		}
	}
	w := queue(t, s, ask("lock", "live", time.Minute))
	released := s.Clock().Now()
	release(t, s, holder)
	until(t, "the first who lives is served", func() bool {
		tryOnce(t, s, ask("lock", "newcomer", time.Minute)) // somebody looks; by itself the waiter would do it later
		select {
		case <-w.done:
			return true
		default:
			return false
		}
	})
	w.served()
	if since := w.granted.Sub(released); since < claim || since > 4*claim {
		t.Errorf("served %v after the release; the claim window is %v, and six were suspect", since, claim)
	}
	if got := places(t, s, "lock", driver.Exclusive); got != "" {
		t.Errorf("still waiting: %s", got)
	}
	// Who is heard of again is not suspect any more.
	p := redislock.Packed{Mode: "e", TTL: time.Minute, Claim: claim, Life: time.Minute, Channel: "holdfast:inbox:dead", ID: "9", Label: "back"}
	if got := d.acquire("lock", attemptOf("9"), "wait", p); got != "W" {
		t.Fatalf("back again: %s", got)
	}
	release(t, s, w.r)
	if got := shown(t, s, "lock"); !strings.Contains(got, "back") {
		t.Errorf("who is back again is not served: %q", got)
	}
}

// Waiters to whom nobody listens are passed over on the very release.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	d := callDirectly(t, server)
	s := dial(t, server.Addr(), "guard=0&claim=30s")
	holder := ask("lock", "holder", time.Hour)
	take(t, s, holder)
	for i := range 50 {
		p := redislock.Packed{Mode: "e", TTL: time.Hour, Claim: time.Hour, Life: time.Hour, Channel: fmt.Sprint("holdfast:inbox:gone-", i), ID: fmt.Sprint(i)}
		if got := d.acquire("lock", fmt.Sprintf("%048d", i), "wait", p); got != "W" {
			t.Fatalf("a waiter: %s", got)
		}
	}
	w := queue(t, s, ask("lock", "live", time.Hour))
	release(t, s, holder)
	if got := shown(t, s, "lock"); !strings.Contains(got, "live") {
		t.Errorf("the first who lives does not have it: %q", got)
	}
	w.served()
}

// Who waits and is not heard of for long is passed over, though somebody listens; asking again keeps the place.
func TestWaitersThatAreNotHeardOf(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	d := callDirectly(t, server)
	s := dial(t, server.Addr(), "guard=0")
	inbox := listen(t, server, "holdfast:inbox:raw")
	holder := ask("lock", "holder", time.Hour)
	take(t, s, holder)
	const life = 300 * time.Millisecond
	p := redislock.Packed{Mode: "e", TTL: time.Hour, Claim: time.Hour, Life: life, Channel: "holdfast:inbox:raw"}
	wait := func(digit string) {
		t.Helper()
		p.ID, p.Label = digit, "raw-"+digit
		if got := d.acquire("lock", attemptOf(digit), "wait", p); got != "W" {
			t.Fatalf("%s: %s", digit, got)
		}
	}
	wait("1")
	wait("2")
	until(t, "the first is not shown any more", func() bool {
		wait("2")
		return places(t, s, "lock", driver.Exclusive) == "raw-2"
	})
	release(t, s, holder)
	if got := shown(t, s, "lock"); !strings.Contains(got, "raw-2") {
		t.Errorf("after the release: %q", got)
	}
	message, err := inbox.Receive(inTime(t))
	if err != nil || !strings.HasPrefix(fmt.Sprint(message.([]any)[2]), "g 2 ") {
		t.Errorf("told %v, %v", message, err)
	}
}

// A request is known by the id under which it was asked for last: what is pushed names that one.
func TestPushNamesTheLastRequest(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	d := callDirectly(t, server)
	inbox := listen(t, server, "holdfast:inbox:raw")
	p := redislock.Packed{Mode: "e", TTL: time.Hour, Claim: time.Hour, Life: time.Hour, Channel: "holdfast:inbox:raw"}
	if got := d.acquire("lock", attemptOf("a"), "take", p); got != "G" {
		t.Fatal(got)
	}
	for _, id := range []string{"1", "2", "3"} {
		p.ID = id
		if got := d.acquire("lock", attemptOf("b"), "wait", p); got != "W" {
			t.Fatal(got)
		}
	}
	p.ID = "4"
	if got := d.acquire("lock", attemptOf("b"), "look", p); got != "H" { // without waiting: another call waits
		t.Errorf("look: %s", got)
	}
	d.release("lock", attemptOf("a"))
	message, err := inbox.Receive(inTime(t))
	if err != nil || !strings.HasPrefix(fmt.Sprint(message.([]any)[2]), "g 3 ") {
		t.Errorf("told %v, %v; the last request that waits was 3", message, err)
	}
}

// Several calls in one request are carried out one after the other, each for itself: with tokens of their own, and whatever becomes of the
// others.
func TestSeveralInOneRequest(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	d := callDirectly(t, server)
	command(t, server, "SET", "holdfast:lock:{strange}", "x")
	several := func(function string, calls ...[]string) []any { // name, letter, and arguments behind the store's id
		t.Helper()
		request := []string{"FCALL", redislock.Library + "_" + function, fmt.Sprint(1 + len(calls)), "holdfast:store"}
		for _, c := range calls {
			request = append(request, "holdfast:lock:{"+c[0]+"}")
		}
		request = append(request, d.store)
		for _, c := range calls {
			request = append(request, c[1:]...)
		}
		answer, err := server.Do(inTime(t), request...)
		if err != nil {
			t.Fatalf("%s: %v", function, err)
		}
		replies := answer.([]any)
		for i, r := range replies {
			if token, taken := r.(int64); taken {
				replies[i] = []any{"G", token}
			}
		}
		return replies
	}
	says := func(reply any) string { return reply.([]any)[0].(string) }
	p := redislock.Packed{Mode: "e", TTL: time.Minute, Claim: time.Second, Life: time.Minute}
	acquire := func(name, attempt, how string) []string {
		return []string{name, "a", attempt, fmt.Sprint(p.TTL.Microseconds()), how, p.String()}
	}
	release := func(name, attempt string) []string {
		return []string{name, "r", attempt, withoutKeep, aMinute}
	}
	replies := several("acquires", acquire("a", attemptOf("1"), "take"), acquire("strange", attemptOf("2"), "take"),
		acquire("a", attemptOf("3"), "leave"), acquire("b", attemptOf("4"), "take"), acquire("a", attemptOf("1"), "take"), acquire("c", attemptOf("5"), "leave"))
	var got []string
	for _, r := range replies {
		got = append(got, says(r))
	}
	if want := []string{"G", "E", "H", "G", "G", "G"}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v: %v", got, want, replies)
	}
	if text := replies[1].([]any)[1].(string); !strings.HasPrefix(text, "WRONGTYPE") {
		t.Errorf("what failed says %q", text)
	}
	token := func(i int) int64 { return replies[i].([]any)[1].(int64) }
	if token(0) >= token(3) || token(3) >= token(5) || token(0) != token(4) {
		t.Errorf("tokens %d, %d, %d, and %d again", token(0), token(3), token(5), token(4))
	}
	replies = several("releases", release("b", attemptOf("1")), release("a", attemptOf("1")), release("strange", attemptOf("2")),
		release("c", attemptOf("5")), []string{"b", "n", attemptOf("4"), "60000000"})
	if says(replies[0]) != "N" || says(replies[2]) != "E" {
		t.Errorf("releases: %v", replies)
	}
	for name, there := range map[string]int64{"a": 0, "b": 1, "c": 0, "strange": 1} {
		if n := command(t, server, "EXISTS", "holdfast:lock:{"+name+"}"); n != there {
			t.Errorf("%s: %d keys, want %d", name, n, there)
		}
	}
}
