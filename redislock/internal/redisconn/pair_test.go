package redisconn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
)

// A pair is two primaries, and three Sentinels that name one of them.
type pair struct {
	old, new  *servers.Redis
	sentinels []*fake
	url       string
}

func newPair(t *testing.T, params string) *pair {
	t.Helper()
	p := &pair{old: start(t), new: start(t)}
	at := place{p.old.Addr(), 1}
	var hosts string
	p.sentinels, hosts = fakes(t, at, at, at)
	p.url = "redis+sentinel://" + hosts + "/m?" + params
	return p
}

// move makes the Sentinels name the new one.
func (p *pair) move() {
	for _, s := range p.sentinels {
		s.change(func() { s.place = place{p.new.Addr(), 2} })
	}
}

// whereIs is the address of the server that answers c.
func whereIs(t testing.TB, c rueidis.Client) (string, error) {
	t.Helper()
	settings, err := c.Do(within(t, patience), c.B().ConfigGet().Parameter("port").Build()).AsStrMap()
	return "127.0.0.1:" + settings["port"], err
}

func isAt(t testing.TB, c rueidis.Client, s *servers.Redis) bool {
	t.Helper()
	at, err := whereIs(t, c)
	return err == nil && at == s.Addr()
}

// hears reports whether an inbox is subscribed at s.
func hears(t *testing.T, s *servers.Redis) bool {
	return fmt.Sprint(do(t, s, "PUBSUB", "SHARDNUMSUB", "inbox")) == "[inbox 1]"
}

func connections(t *testing.T, s *servers.Redis) string {
	list, _ := do(t, s, "CLIENT", "LIST").(string)
	var ids []string
	for line := range strings.Lines(list) {
		if strings.Contains(line, "name=holdfast ") {
			id, _, _ := strings.Cut(line, " ")
			ids = append(ids, id)
		}
	}
	return strings.Join(ids, " ")
}

func proxyTo(t *testing.T, address string) *netfault.Proxy {
	t.Helper()
	proxy, err := netfault.New(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	return proxy
}

// demote makes the old primary a replica of the new one, which then has the library.
func (p *pair) demote(t *testing.T) {
	t.Helper()
	if err := p.old.Follow(within(t, patience), p.new.Addr()); err != nil {
		t.Fatal(err)
	}
	if err := p.old.Linked(within(t, patience)); err != nil {
		t.Fatal(err)
	}
	p.move()
}

func set(t *testing.T, c rueidis.Client) error {
	t.Helper()
	return Error(c.Do(within(t, patience), c.B().Set().Key("k").Value("v").Build()).Error())
}

func setAll(t *testing.T, c rueidis.Client) error {
	t.Helper()
	return Error(c.DoMulti(within(t, patience), c.B().Get().Key("k").Build(), c.B().Set().Key("k").Value("v").Build())[1].Error())
}
