package redisconn

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// canary is a password that must appear nowhere.
const canary = "c4n4ry-Kanarienvogel"

func TestOptions(t *testing.T) {
	for url, want := range map[string]struct {
		address string
		db      int
		timeout time.Duration
	}{
		"redis://example.org":                   {"example.org:6379", 0, 5 * time.Second},
		"redis://example.org:7000/":             {"example.org:7000", 0, 5 * time.Second},
		"redis://[::1]/3":                       {"[::1]:6379", 3, 5 * time.Second},
		"redis://[::1]:7000/15?timeout=250ms":   {"[::1]:7000", 15, 250 * time.Millisecond},
		"rediss://10.0.0.1?timeout=1m&prefix=x": {"10.0.0.1:6379", 0, time.Minute},
	} {
		u, err := driver.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Options(u, "prefix")
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if len(o.InitAddress) != 1 || o.InitAddress[0] != want.address || o.SelectDB != want.db {
			t.Errorf("%s: %v, database %d", url, o.InitAddress, o.SelectDB)
		}
		if o.ConnWriteTimeout != want.timeout || o.Dialer.Timeout != want.timeout {
			t.Errorf("%s: time-outs %v and %v, want %v", url, o.ConnWriteTimeout, o.Dialer.Timeout, want.timeout)
		}
		if tls := u.Scheme == "rediss"; tls != (o.TLSConfig != nil) || o.AuthCredentialsFn != nil {
			t.Errorf("%s: TLS %v, password %v", url, o.TLSConfig != nil, o.AuthCredentialsFn != nil)
		}
		if !o.DisableRetry || !o.DisableCache || !o.ForceSingleClient || o.SendToReplicas != nil || o.ReplicaOnly {
			t.Errorf("%s: it would retry, cache, look for a cluster or read from replicas", url)
		}
	}
}

func TestOptionsHidePassword(t *testing.T) {
	for url, user := range map[string]string{"redis://:" + canary + "@h": "", "redis://me:" + canary + "@h": "me"} {
		o := options(t, url)
		if text := fmt.Sprintf("%v %+v %#v", o, o, o); strings.Contains(text, canary) {
			t.Error("printing the options shows the password")
		}
		if got, err := o.AuthCredentialsFn(rueidis.AuthCredentialsContext{}); err != nil || got.Username != user || got.Password != canary {
			t.Errorf("%s: user %q, %v", url, got.Username, err)
		}
	}
}

func TestOptionsRefuse(t *testing.T) {
	empty := filepath.Join(t.TempDir(), canary)
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for url, says := range map[string]string{
		"redis://":                                     "exactly one host",
		"redis://a,b":                                  "exactly one host",
		"redis://h/one":                                "number of a database",
		"redis://h/-1":                                 "number of a database",
		"redis://h/+1":                                 "number of a database",
		"redis://h/1/":                                 "number of a database",
		"redis://h/99999999999":                        "number of a database",
		"redis://h?prefx=x":                            "known are: prefix, timeout, ca",
		"redis://h?timeout=soon":                       "takes a duration",
		"redis://h?timeout=0s":                         "at least 50ms",
		"redis://h?timeout=-1s":                        "at least 50ms",
		"redis://h?timeout=1s&timeout=2s":              "more than once",
		"redis://h?ca=" + canary:                       "write rediss://",
		"redis://h?insecure=false":                     "write rediss://",
		"rediss://h?insecure=maybe":                    "true or false",
		"rediss://h?servername=":                       "is empty",
		"rediss://h?ca=/nowhere/" + canary:             "cannot be read",
		"rediss://h?ca=" + empty:                       "without a certificate",
		"rediss://h?cert=" + empty:                     "needs key=FILE",
		"rediss://h?key=" + empty:                      "needs cert=FILE",
		"rediss://h?cert=" + empty + "&key=/" + canary: "cannot be read",
		"rediss://h?cert=" + empty + "&key=" + empty:   "not a pair",
		"redis://h?sentinel-user=x":                    "is not known",

		"redis+sentinel://":                                   "what they call the primary",
		"redis+sentinel://a,b,c":                              "what they call the primary",
		"redis+sentinel://a,b,c/":                             "/mymaster",
		"redis+sentinel://a/" + canary + "!":                  "/mymaster",
		"redis+sentinel://a//2":                               "/mymaster",
		"redis+sentinel://a/m/" + canary:                      "/mymaster/0",
		"redis+sentinel://a/m/1/2":                            "number of a database",
		"redis+sentinel://a,b,a:26379/m":                      "names a Sentinel twice",
		"redis+sentinel://a/m?sentinel-user=" + canary:        "is missing",
		"redis+sentinel://a/m?sentinel-password=":             "is missing or empty",
		"redis+sentinel://a/m?sentinel-user=x&sentinel-user=": "more than once",
		"redis+sentinel://a/m?ca=" + canary:                   "write rediss+sentinel://",
		"rediss+sentinel://a/m?servername=":                   "is empty",
		"redis+sentinel://a/m?nat=" + canary:                  "nat=TOLD=REACHED,TOLD=REACHED",
		"redis+sentinel://a/m?nat=":                           "nat=TOLD=REACHED",
		"redis+sentinel://a/m?nat=a:1=b:2,":                   "nat=TOLD=REACHED",
		"redis+sentinel://a/m?nat=a:1=b":                      "nat=TOLD=REACHED",
		"redis+sentinel://a/m?nat=a:0=b:1":                    "nat=TOLD=REACHED",
		"redis+sentinel://a/m?nat=a:1=b:1=c:1":                "nat=TOLD=REACHED",
		"redis+sentinel://a/m?nat=a:1=b:1,A:01=c:1":           "each address that is told once",
	} {
		u, err := driver.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Options(u, "prefix")
		var is *driver.URLError
		if !errors.As(err, &is) || !strings.Contains(is.Error(), says) {
			t.Errorf("%s: got %v, want %q", url, err, says)
		} else if strings.Contains(err.Error(), canary) {
			t.Errorf("%s: the error repeats a value", url)
		}
	}
}

func TestOptionsTLS(t *testing.T) {
	s := start(t, servers.RedisTLS(servers.Flawless))
	c := s.Certificates
	o := options(t, "rediss://[::1]?ca="+c.CA+"&cert="+c.ClientCert+"&key="+c.ClientKey)
	if o.TLSConfig.ServerName != "::1" || o.TLSConfig.MinVersion != tls.VersionTLS12 || o.TLSConfig.InsecureSkipVerify ||
		o.TLSConfig.RootCAs == nil || len(o.TLSConfig.Certificates) != 1 {
		t.Errorf("%+v", o.TLSConfig)
	}
	o = options(t, "rediss://h?servername=other&insecure=true")
	if o.TLSConfig.ServerName != "other" || !o.TLSConfig.InsecureSkipVerify {
		t.Errorf("%+v", o.TLSConfig)
	}
	u, err := driver.ParseURL("rediss://h?insecure=true&ca=" + c.CA)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Options(u); err == nil || !strings.Contains(err.Error(), "contradicts") {
		t.Errorf("insecure beside ca: %v", err)
	}
}

func TestOptionsSentinel(t *testing.T) {
	o := options(t, "redis+sentinel://me:"+canary+"@h1,h2:7000,[::1]/my.master_1-x/3?timeout=1s&sentinel-user=su&sentinel-password="+canary+
		"&nat=10.0.0.1:6379=Localhost:7001,[::0001]:06379=127.0.0.1:7002")
	s := o.sentinels
	if fmt.Sprint(s.addresses) != "[h1:26379 h2:7000 [::1]:26379]" || s.name != "my.master_1-x" || s.user != "su" || s.password.Reveal() != canary {
		t.Errorf("%q %q %q", s.addresses, s.name, s.user)
	}
	if o.SelectDB != 3 || o.TLSConfig != nil || s.limit != time.Second/2 {
		t.Errorf("database %d, limit %v", o.SelectDB, s.limit)
	}
	for told, want := range map[string]string{"10.0.0.1:6379": "localhost:7001", "[::1]:6379": "127.0.0.1:7002", "10.0.0.1:6380": "10.0.0.1:6380"} {
		if got := o.reachable(told); got != want {
			t.Errorf("%s is reached at %s", told, got)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v %s", o, o, &o, o); strings.Contains(text, canary) || !strings.Contains(text, "my.master_1-x") {
		t.Errorf("printed: %s", text)
	}
	if words, err := o.greeting(); err != nil || fmt.Sprint(words) != "[HELLO 2 AUTH me "+canary+"]" {
		t.Errorf("the greeting has %d words, %v", len(words), err)
	}
	if o := options(t, "redis+sentinel://h1/m"); !o.sentinels.password.Empty() || o.AuthCredentialsFn != nil || o.SelectDB != 0 {
		t.Error("a password that nobody gave")
	}
}

// TestOptionsSentinelTLS: every server has a name of its own, unless the URL says otherwise.
func TestOptionsSentinelTLS(t *testing.T) {
	for url, want := range map[string]string{"rediss+sentinel://h1,h2/m": "10.0.0.1", "rediss+sentinel://h1/m?servername=x": "x", "rediss://h": "10.0.0.1"} {
		o := options(t, url)
		if got := o.tlsFor("10.0.0.1:6379"); got.ServerName != want || got.MinVersion != tls.VersionTLS12 {
			t.Errorf("%s: %q", url, got.ServerName)
		}
	}
}
