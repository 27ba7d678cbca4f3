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
