package redislock_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// engines are the texts that had a number. A number that was released stands for one text, for ever.
var engines = map[string]string{
	"1": "5607e8a4bfe23d09c69997502263f7ca8654b6b1a3181cde911171f55182116a",
}

// Servers may have the library of a released program: under the same number they would be taken for the same. So whoever changes
// engine.lua or guard.lua gives it another number.
func TestEngineHasItsNumber(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(redislock.Code)))
	if engines[redislock.Version] != sum {
		t.Errorf("engine.lua or guard.lua has changed: the sum of their text is\n%s, and that of version %s was\n%q.\n"+
			"If that version was released, raise the number (engine.go) and add a line to engines; "+
			"if it was not, put the new sum into its line.", sum, redislock.Version, engines[redislock.Version])
	}
	if first, _, _ := strings.Cut(redislock.Code, "\n"); first != "#!lua name="+redislock.Library {
		t.Errorf("the library begins with %q, and engine.go says %s", first, redislock.Library)
	}
}

// oldName is what our engine is called in a program of another age.
const oldName = "holdfast_0"

// A variant is the connection of a program with another engine: all that it says about the library is about one of another name, whose text
// may differ.
type variant struct {
	rueidis.Client
	name string
	edit *strings.Replacer // of the text; nil: the same
}

func (c variant) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	args := append([]string(nil), cmd.Commands()...)
	switch args[0] {
	case "FCALL", "FUNCTION":
		for i := 1; i < min(len(args), 4); i++ {
			args[i] = strings.ReplaceAll(args[i], redislock.Library, c.name)
			if c.edit != nil {
				args[i] = c.edit.Replace(args[i])
			}
		}
		return c.Client.Do(ctx, c.B().Arbitrary(args[0]).Args(args[1:]...).Build())
	}
	return c.Client.Do(ctx, cmd)
}

// dialVariant opens a client with another engine: pairs are texts, and what stands in their place.
func dialVariant(t testing.TB, address, name string, pairs []string, opts ...redislock.Option) *redislock.Store {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	v := variant{Client: client, name: name}
	if len(pairs) > 0 {
		v.edit = strings.NewReplacer(pairs...)
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(redislock.Code, pairs[i]) {
				t.Fatalf("the library does not contain %q", pairs[i])
			}
		}
	}
	s := redislock.New(v, opts...)
	t.Cleanup(func() { s.Close(); client.Close() })
	return s
}

// dialOlder opens a client of a program of another age.
func dialOlder(t testing.TB, address string, opts ...redislock.Option) *redislock.Store {
	t.Helper()
	return dialVariant(t, address, oldName, nil, opts...)
}

// bothAges returns a client of another age, and one of ours, whose library is loaded later.
func bothAges(t testing.TB, address string) (older *redislock.Store, newer func() *redislock.Store) {
	older = dialOlder(t, address, redislock.Guard(0))
	return older, func() *redislock.Store { return dial(t, address, "guard=0") }
}

func libraries(t testing.TB, server *servers.Redis) string {
	t.Helper()
	return fmt.Sprint(command(t, server, "FUNCTION", "LIST"))
}

// Waiters of both ages stand in one queue, and are served in turn, each by its own library's hand.
func TestAgesShareAQueue(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	older, openNewer := bothAges(t, server.Addr())
	first := ask("lock", "first", time.Minute)
	token := take(t, older, first).Token
	newer := openNewer()
	if text := libraries(t, server); !strings.Contains(text, oldName) || !strings.Contains(text, redislock.Library) {
		t.Fatalf("not both libraries are there: %s", text)
	}
	stores := []*redislock.Store{older, newer}
	var waiters []*waiter
	for i := range 12 {
		r := ask("lock", fmt.Sprint("waiter ", i), time.Minute)
		r.Reserve = uint32(i % 3)
		waiters = append(waiters, queue(t, stores[i*i/2%2], r))
	}
	release(t, older, first)
	for i, w := range waiters {
		grant := w.served()
		if grant.Token <= token {
			t.Errorf("waiter %d has the token %d, after %d", i, grant.Token, token)
		}
		token = grant.Token + grant.Spare
		for _, later := range waiters[i+1:] {
			later.waits()
		}
		release(t, stores[(i+1)%2], w.r) // either library frees what the other has granted
	}
}

// Programs of both ages exclude each other, and tokens rise over both, whoever renews, frees or breaks.
func TestAgesExclude(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	older, openNewer := bothAges(t, server.Addr())
	stores := []*redislock.Store{older, openNewer()}
	var inside, last atomic.Uint64
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			s := stores[worker%2]
			for i := range 40 {
				r := ask("lock", fmt.Sprint("worker ", worker), time.Minute)
				r.Reserve = uint32(i % 2 * 1000)
				grant, err := s.Acquire(inTime(t), r)
				if err != nil {
					t.Errorf("Acquire: %v", err)
					return
				}
				if inside.Add(1) > 1 {
					t.Error("two hold at once")
				}
				if before := last.Swap(grant.Token + grant.Spare); grant.Token <= before {
					t.Errorf("the token %d follows %d", grant.Token, before)
				}
				if _, err := grant.Lease.Renew(inTime(t), time.Minute); err != nil {
					t.Errorf("Renew: %v", err)
				}
				inside.Add(^uint64(0))
				if err := stores[(worker+i)%2].Release(inTime(t), r); err != nil {
					t.Errorf("Release: %v", err)
				}
			}
		})
	}
	group.Wait()
}

// A library that was just loaded remembers nothing: its tokens begin at the ceiling that is stored, ahead of the clock. The other library
// does not know of them, but must not give smaller ones for the same name, however a hold has ended.
func TestTokensRiseOverBothAges(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(t *testing.T, server *servers.Redis, s *redislock.Store, r *driver.Request, g *driver.Grant){
		"released": func(t *testing.T, _ *servers.Redis, s *redislock.Store, r *driver.Request, _ *driver.Grant) {
			release(t, s, r)
		},
		"expired": func(t *testing.T, server *servers.Redis, s *redislock.Store, r *driver.Request, _ *driver.Grant) {
			until(t, "the hold has run out", func() bool { return shown(t, s, r.Name) == shown(t, s, "nobody's") })
			until(t, "the server has removed it, if it will", func() bool {
				left := command(t, server, "PTTL", "holdfast:lock:{"+r.Name+"}").(int64)
				return left < 0 || left > 1000
			})
		},
		"broken": func(t *testing.T, _ *servers.Redis, s *redislock.Store, r *driver.Request, g *driver.Grant) {
			if err := s.Break(t.Context(), &driver.BreakRequest{Name: r.Name, Mode: r.Mode, Token: g.Token, Now: true}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t)
			older, openNewer := bothAges(t, server.Addr())
			names := []string{"exclusive", "reserved", "shared", "permits"}
			grants := map[string]*driver.Grant{}
			for _, name := range names {
				r := tokenRequest(name)
				grants[name] = take(t, older, r)
				release(t, older, r)
			}
			stores := []*redislock.Store{openNewer(), older}
			for i := range 6 {
				for _, name := range names {
					r := tokenRequest(name)
					if what == "expired" {
						r.TTL = 20 * time.Millisecond
					}
					before, s := grants[name], stores[i%2]
					grant, err := s.Acquire(inTime(t), r)
					if err != nil {
						t.Fatalf("%s, grant %d: %v", name, i, err)
					}
					if grant.Token <= before.Token+before.Spare {
						t.Errorf("%s, grant %d: the token %d follows %d with %d more", name, i, grant.Token, before.Token, before.Spare)
					}
					grants[name] = grant
					end(t, server, s, r, grant)
				}
			}
		})
	}
}

func tokenRequest(name string) *driver.Request {
	r := ask(name, "holder", time.Minute)
	switch name {
	case "reserved":
		r.Reserve = redislock.MaxReserve
	case "shared":
		r.Mode = driver.Shared
	case "permits":
		r.Mode, r.N, r.Limit, r.Reserve = driver.Permits, 1, 2, 100
	}
	return r
}

// The ceiling that is stored is above every token that any library gave: it never falls, or a library that is loaded next would begin below.
func TestCeilingNeverFalls(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	older, openNewer := bothAges(t, server.Addr())
	stores := []*redislock.Store{older, openNewer()}
	var ceiling int64
	for i := range 800 { // first one library, then the other, by turns of a hundred, on names of its own
		turn := i / 100 % 2
		r := ask(fmt.Sprint("lock of ", turn), "holder", time.Minute)
		if i < 700 || turn == 0 {
			r.Reserve = redislock.MaxReserve // so that it gets ahead of the clock, and of the other
		}
		grant := take(t, stores[turn], r)
		release(t, stores[turn], r)
		now, err := strconv.ParseInt(command(t, server, "HGET", "holdfast:store", "ceiling").(string), 10, 64)
		if err != nil || now < ceiling || uint64(now) < grant.Token+grant.Spare {
			t.Fatalf("grant %d, of %d and %d more: the ceiling is %d, %v; before it was %d", i, grant.Token, grant.Spare, now, err, ceiling)
		}
		ceiling = now
	}
}
