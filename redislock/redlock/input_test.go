package redlock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock/redlock"
)

// canary is a password. It must not be seen anywhere.
const canary = "canary-7d20"

// secretless fails the test if anything that can be printed of x has the password.
func secretless(t *testing.T, x any) {
	t.Helper()
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if strings.Contains(fmt.Sprintf(format, x), canary) {
			t.Errorf("%s of a %T shows the password", format, x)
		}
	}
	switch e := x.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			secretless(t, inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			secretless(t, inner)
		}
	}
}

// says fails the test unless the text of err has all the words.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}

// hosts are n hosts at which nobody is.
func hosts(n int, format string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(format, i+1))
	}
	return strings.Join(all, ",")
}

// A badURL is one that Open refuses, because of a parameter if it names one, with words that help.
type badURL struct {
	name, url, param string
	words            []string
}

const three = "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3?"

var badLists = []badURL{
	{"no nodes", "redlock://", "", []string{"redlock://h1:6379,h2:6379,h3:6379"}},
	{"no nodes, but a parameter", "redlock://?guard=0", "", []string{"must name the nodes"}},
	{"no nodes, but a path", "redlock:///0", "", nil},
	{"twice the same host", "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:1", "", []string{"twice"}},
	{"twice by the default port", "redlock://h1,h2,h1:6379", "", []string{"twice"}},
	{"twice in capitals", "redlock://h1:1,h2:1,H1:1", "", []string{"twice"}},
	{"twice, an address of IPv6", "redlock://[::1],h2,[::1]:6379", "", []string{"twice"}},
	{"twice the same URL", "redlock://?node=redis://h1&node=redis://h2&node=redis://H1:6379", "", []string{"twice"}},
	{"twice, with TLS and without", "redlock://?node=redis://h1&node=redis://h2&node=rediss://h1", "", []string{"twice"}},
	{"twice, by other users", "redlock://?node=redis://a%40h1&node=redis://h2&node=redis://b:" + canary + "%40h1", "", []string{"twice"}},
	{"twice the same Sentinels", "redlock://?node=redis%2Bsentinel://s1,s2/main&node=redis://h2&node=redis%2Bsentinel://s1:26379,s2/main", "", []string{"twice"}},
	{"twice the same name", "redlock://?node=redis://h1?name=a&node=redis://h2?name=b&node=redis://h3?name=a", "", []string{"twice"}},
	{"too many hosts", "redlock://" + hosts(32, "h%d"), "", []string{"31"}},
	{"too many URLs", "redlock://?node=redis://" + strings.ReplaceAll(hosts(32, "h%d"), ",", "&node=redis://"), "", []string{"31"}},
	{"hosts and URLs", "redlock://h1?node=redis://h2&node=redis://h3", "node", []string{"redlock://?node="}},
	{"a password beside URLs", "redlock://user:" + canary + "@?node=redis://h1", "", []string{"node="}},
	{"a user beside URLs", "redlock://user@?node=redis://h1", "", []string{"node="}},
	{"a path beside URLs", "redlock:///2?node=redis://h1", "", []string{"node="}},
	{"a path that is no database", "redlock://h1,h2,h3/locks", "", []string{"database"}},
}

var badNodes = []badURL{
	{"another scheme", "redlock://?node=http://h1", "node", []string{"redis://"}},
	{"this scheme", "redlock://?node=redlock://h1", "node", []string{"redis://"}},
	{"a scheme that begins well", "redlock://?node=redisson://h1", "node", []string{"redis://", "rediss://"}},
	{"a socket", "redlock://?node=redis%2Bunix://h1", "node", []string{"redis://"}},
	{"a cluster", "redlock://?node=redis%2Bcluster://h1", "node", []string{"redis://"}},
	{"a dash for a plus", "redlock://?node=redis-sentinel://s1/main", "node", []string{"%2Bsentinel"}},
	{"more than a scheme", "redlock://?node=rediss%2Bsentinels://s1/main", "node", []string{"%2Bsentinel"}},
	{"no scheme", "redlock://?node=h1:6379", "node", []string{"redis://"}},
	{"nothing", "redlock://?node=", "node", []string{"redis://"}},
	{"a plus that is a space", "redlock://?node=redis+sentinel://s1,s2/main", "node", []string{"%2B", "%26", "%40"}},
	{"a space", "redlock://?node=redis://h1%20h2", "node", []string{"%26", "%2B", "%40"}},
	{"a password that spills over", "redlock://?node=redis://u:a%40" + canary + "%40h1", "node", []string{"%26", "%2B", "%40"}},
	{"a port that is none", "redlock://?node=redis://h1:66666", "node", []string{"%26", "%2B", "%40"}},
	{"two hosts", "redlock://?node=redis://h1,h2", "", []string{"one host"}},
	{"a bare at sign", "redlock://?node=redis://u:" + canary + "@h1", "", []string{"%40"}},
	{"a bare ampersand", "redlock://?node=redis://h1?name=a&timeout=1s", "timeout", nil},
	{"Sentinels without a name", "redlock://?node=redis%2Bsentinel://s1,s2", "", []string{"primary"}},
	{"a parameter of a node", "redlock://?node=redis://h1?tiemout=1s", "", []string{"tiemout", "timeout"}},
	{"a store's parameter at a node", "redlock://?node=redis://h1?guard=0", "", []string{"guard"}},
	{"a name with a comma", "redlock://?node=redis://h1?name=a,b", "", []string{"name", "commas"}},
	{"a name with a space", "redlock://?node=redis://h1?name=a%2520b", "", []string{"name", "spaces"}},
	{"a name with a control character", "redlock://?node=redis://h1?name=a%2500", "", []string{"name", "printable"}},
	{"a long name", "redlock://?node=redis://h1?name=" + strings.Repeat("n", 201), "", []string{"name", "200"}},
	{"two names", "redlock://?node=redis://h1?name=a%26name=b", "", []string{"name", "more than once"}},
}

var badParameters = []badURL{
	{"unknown", three + "gaurd=1s", "gaurd", []string{"guard", "node-timeout", "tokens", "ttl", "prefix"}},
	{"a ttl without a unit", three + "ttl=10", "ttl", []string{"10s"}},
	{"no ttl", three + "ttl=", "ttl", nil},
	{"two ttls", three + "ttl=1s&ttl=2s", "ttl", []string{"more than once"}},
	{"a short ttl", three + "ttl=99ms", "ttl", []string{"100ms"}},
	{"a long ttl", three + "ttl=24h1ms", "ttl", []string{"24h"}},
	{"a negative ttl", three + "ttl=-1s", "ttl", []string{"100ms"}},
	{"a guard that is a word", three + "guard=off", "guard", nil},
	{"a short guard", three + "guard=99ms", "guard", []string{"100ms", "0 (off)"}},
	{"a long guard", three + "guard=25h", "guard", []string{"24h"}},
	{"a negative guard", three + "guard=-1s", "guard", []string{"100ms"}},
	{"a short time-out", three + "node-timeout=999us", "node-timeout", []string{"1ms"}},
	{"a long time-out", three + "node-timeout=10001ms", "node-timeout", []string{"10s"}},
	{"no time-out", three + "node-timeout=0", "node-timeout", []string{"1ms"}},
	{"tokens", three + "tokens=yes", "tokens", []string{"on or off"}},
	{"no tokens", three + "tokens=", "tokens", []string{"on or off"}},
	{"a prefix with a space", three + "prefix=a%20b", "prefix", []string{"spaces"}},
	{"a long prefix", three + "prefix=" + strings.Repeat("p", 65), "prefix", []string{"64 bytes"}},
	{"a name for all hosts", three + "name=a", "name", nil},
	{"a file that is not there", three + "ca=/nowhere/ca.pem", "ca", []string{"cannot be read"}},
	{"a certificate without its key", three + "cert=/nowhere/cert.pem", "cert", nil},
	{"an odd time-out of connections", three + "timeout=soon", "timeout", nil},
	{"a connection's parameter beside URLs", "redlock://?node=redis://h1&insecure=true", "insecure", nil},
}

// TestBadURLs: what nobody could use is told before anything is sent, by what is wrong and what to write instead, without a secret.
func TestBadURLs(t *testing.T) {
	for room, all := range map[string][]badURL{"lists": badLists, "nodes": badNodes, "parameters": badParameters} {
		for _, c := range all {
			t.Run(room+"/"+c.name, func(t *testing.T) {
				store, err := openURL(inTime(t), c.url)
				var wrong *driver.URLError
				switch {
				case err == nil:
					store.Close()
					t.Fatal("it was opened")
				case !errors.Is(err, driver.ErrURL) || !errors.As(err, &wrong):
					t.Fatalf("%T %v: want a *driver.URLError", err, err)
				case c.param != "" && wrong.Param != c.param:
					t.Errorf("%v: want it to name the parameter %q", err, c.param)
				}
				says(t, err, c.words...)
				secretless(t, err)
			})
		}
	}
}

// TestGoodURLs: what is odd and allowed is not taken for a mistake. Nobody is at these addresses.
func TestGoodURLs(t *testing.T) {
	for name, url := range map[string]string{
		"as many hosts as may be":     "redlock://" + hosts(31, "127.0.0.1:%d"),
		"every parameter":             three + "prefix=locks:&ttl=100ms&guard=24h&tokens=off&node-timeout=10s&timeout=50ms",
		"the least of each":           three + "ttl=24h&guard=100ms&tokens=on&node-timeout=1ms",
		"a database":                  "redlock://127.0.0.1:1,127.0.0.1:2/3",
		"other ports of one host":     "redlock://127.0.0.1:1,127.0.0.1:2",
		"a name of 200 characters":    "redlock://?node=redis://127.0.0.1:1?name=" + strings.Repeat("n", 200),
		"a password for all hosts":    "redlock://user:" + canary + "@127.0.0.1:1,127.0.0.1:2",
		"a password of a node's":      "redlock://?node=redis://user:" + canary + "%40127.0.0.1:1",
		"a password with an at sign":  "redlock://?node=redis://user:a%2540" + canary + "%40127.0.0.1:1",
		"parameters of a node's":      "redlock://?node=redis://127.0.0.1:1?name=a%26timeout=1s&node=redis://127.0.0.1:2?name=b",
		"Sentinels with their secret": "redlock://?node=redis%2Bsentinel://127.0.0.1:1/main?sentinel-password=" + canary,
		"TLS":                         "redlock://?node=rediss://127.0.0.1:1?insecure=true",
	} {
		t.Run(name, func(t *testing.T) {
			store, err := openURL(inTime(t), url)
			var nodes *redlock.NodesError
			if err == nil {
				store.Close()
			}
			if !errors.As(err, &nodes) {
				t.Fatalf("%v: want a *NodesError, because nobody is there", err)
			}
			secretless(t, err)
		})
	}
}

// TestTLSParameters: what concerns TLS makes it TLS, at every host; and a store that is open shows no secret.
func TestTLSParameters(t *testing.T) {
	t.Parallel()
	server := startRedis(t, servers.RedisTLS(servers.Flawless), servers.RedisPassword(canary))
	in, certificates := ":"+canary+"@"+server.Addr(), server.Certificates
	for name, url := range map[string]string{
		"by ca":              "redlock://" + in + "?ca=" + certificates.CA,
		"by insecure":        "redlock://" + in + "?insecure=true",
		"by the node's URL":  "redlock://?node=rediss://:" + canary + "%40" + server.Addr() + "?ca=" + certificates.CA,
		"with a server name": "redlock://" + in + "?ca=" + certificates.CA + "&servername=localhost",
	} {
		m := opened(t, url+"&guard=0")
		r := ask("lock", patience)
		m.grant(r)
		if err := m.release(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		secretless(t, m.Store)
		if text := m.String(); text != "redlock://"+server.Addr() {
			t.Errorf("%s: it is called %q", name, text)
		}
	}
	for name, params := range map[string]string{"without TLS": "", "under another name": "&ca=" + certificates.CA + "&servername=elsewhere"} {
		_, err := openURL(inTime(t), "redlock://"+in+"?guard=0"+params)
		if err == nil || driver.Answered(err) {
			t.Errorf("%s: %v", name, err)
		}
		secretless(t, err)
	}
}
