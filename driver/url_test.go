package driver

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// texts returns the parameters as plain text.
func texts(params map[string][]Secret) map[string][]string {
	plain := make(map[string][]string)
	for name, values := range params {
		for _, value := range values {
			plain[name] = append(plain[name], value.Reveal())
		}
	}
	return plain
}

func TestParseURL(t *testing.T) {
	type params = map[string][]string
	for _, c := range []struct {
		text, printed  string
		user, password string
		hosts          []string
		path           string
		params         params
	}{
		{text: "mem://", printed: "mem://"},
		{text: "mem://name", printed: "mem://name", hosts: []string{"name"}},
		{text: "a+b-c.1://", printed: "a+b-c.1://"},
		{text: "redis://h:1,h2:65535,h3", printed: "redis://h:1,h2:65535,h3", hosts: []string{"h:1", "h2:65535", "h3"}},
		{text: "redis://[::1]:6379,[fe80::1]", printed: "redis://[::1]:6379,[fe80::1]", hosts: []string{"[::1]:6379", "[fe80::1]"}},
		{text: "redis://u:p@h/0", printed: "redis://u:***@h/0", user: "u", password: "p", hosts: []string{"h"}, path: "/0"},
		{text: "redis://:p@h", printed: "redis://:***@h", password: "p", hosts: []string{"h"}},
		{text: "redis://u@h", printed: "redis://u@h", user: "u", hosts: []string{"h"}},
		{text: "redis://u:@h", printed: "redis://u@h", user: "u", hosts: []string{"h"}},
		{text: "redis://@h", printed: "redis://h", hosts: []string{"h"}},
		{text: "redis://u:p@", printed: "redis://u:***@", user: "u", password: "p"},
		{text: "redis://u:p:q@h", printed: "redis://u:***@h", user: "u", password: "p:q", hosts: []string{"h"}},
		{text: "redis://u:%40%2F%3F%23%3A+%25@h", printed: "redis://u:***@h", user: "u", password: "@/?#:+%", hosts: []string{"h"}},
		{text: "redis://a%3Ab%40c:p@h", printed: "redis://a%3Ab%40c:***@h", user: "a:b@c", password: "p", hosts: []string{"h"}},
		{text: "file:///var/lock%20s", printed: "file:///var/lock%20s", path: "/var/lock s"},
		{text: "file:///home/me@work", printed: "file:///home/me%40work", path: "/home/me@work"},
		{text: "file:///a%3Ab%40c", printed: "file:///a:b%40c", path: "/a:b@c"},
		{text: "file:///100%25%3F%23", printed: "file:///100%25%3F%23", path: "/100%?#"},
		{text: "x://h?a=1&b=&a=2", printed: "x://h", hosts: []string{"h"}, params: params{"a": {"1", "2"}, "b": {""}}},
		{text: "x://?a=%26+%3D=&&c.D-1_=é", printed: "x://", params: params{"a": {"& =="}, "c.D-1_": {"é"}}},
		{text: "x://h/p?", printed: "x://h/p", hosts: []string{"h"}, path: "/p"},
	} {
		u, err := ParseURL(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if c.params == nil {
			c.params = params{}
		}
		scheme, _, _ := strings.Cut(c.text, ":")
		if u.Scheme != scheme || u.User != c.user || u.Password.Reveal() != c.password || !slices.Equal(u.Hosts, c.hosts) ||
			u.Path != c.path || !reflect.DeepEqual(texts(u.Params), c.params) {
			t.Errorf("%s is read as user %q, password %q, hosts %q, path %q, parameters %q",
				c.text, u.User, u.Password.Reveal(), u.Hosts, u.Path, texts(u.Params))
		}
		if got := u.String(); got != c.printed {
			t.Errorf("%s is printed as %s, want %s", c.text, got, c.printed)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                            "scheme",
		"redis":                       "scheme",
		"redis:/h":                    "scheme",
		"file:/x":                     "write file:///var/lib/x, for instance: schemes are lower case, followed by ://",
		"FILE:///x":                   "lower case",
		"/var/lib/x":                  "write file:///var/lib/x",
		"://h":                        "scheme",
		"Redis://h":                   "scheme",
		"1redis://h":                  "scheme",
		"re dis://h":                  "scheme",
		"u:p@h://x":                   "scheme",
		"redis://h h":                 "space",
		"redis://h\n":                 "control",
		"redis://h/\u0085":            "control",
		"redis://h/\x7f":              "control",
		"redis://h/\u2028":            "space",
		"redis://h/\xff":              "UTF-8",
		"redis://u:p@q@h":             "password",
		"redis://u:p/q@h":             "%2F for /",
		"redis://u:p?q@h":             "%3F for ?",
		"redis://u:p#q@h":             "%23 for #",
		"redis://h#fragment":          ": a # is not percent-encoded; write %23 for it",
		"redis://h/a#b":               ": a # is not percent-encoded; write %23 for it",
		"redis://h?a=#b":              ": a # is not percent-encoded; write %23 for it",
		"redis:///a:b@c#d":            "password",
		"file://C:/locks":             "file:///C:/locks",
		`file://c:\locks`:             "file:///C:/locks",
		"redis://c:/locks":            "host:port",
		"redis:///u:p@h":              "%40 for @",
		"redis://?a=:p@h":             "%40 for @",
		"redis://%zz:p@h":             "user name",
		"redis://u:%zz@h":             "password is not percent-encoded",
		"redis://u:%@h":               "password is not percent-encoded",
		"redis://h/%zz":               "path",
		"redis://h:":                  "host",
		"redis://h:0":                 "ports from 1",
		"redis://h:65536":             "ports from 1",
		"redis://h:+80":               "host",
		"redis://h:-1":                "host",
		"redis://h:x":                 "host",
		"redis://h:1:2":               "host",
		"redis://:1":                  "host",
		"redis://,":                   "host",
		"redis://h,":                  "host",
		"redis://h,,i":                "host",
		"redis://::1":                 "host",
		"redis://[::1":                "host",
		"redis://[::1]x":              "host",
		"redis://[::1]:":              "host",
		"redis://[::1]:0":             "host",
		"redis://[]":                  "host",
		"redis://[h]":                 "host",
		"redis://[127.0.0.1]":         "host",
		"redis://[fe80::1%eth0]":      "host",
		"redis://h%41":                "host",
		"redis://h{}":                 "host",
		"redis://h?a":                 "name=value",
		"redis://h?=1":                "name=value",
		"redis://h?a%20b=1":           "name=value",
		"redis://h?a/b=1":             "name=value",
		"redis://h?a=%zz":             "value of a parameter",
		"redis://h?a=1&redis://u:p=2": "name=value",
	} {
		u, err := ParseURL(text)
		if u != nil || !errors.Is(err, ErrURL) || !strings.Contains(err.Error(), says) {
			t.Errorf("ParseURL(%q) = %v, %v; want an error that says %q", text, u, err, says)
			continue
		}
		if e, ok := errors.AsType[*URLError](err); !ok || (strings.HasPrefix(text, "redis://")) != (e.Scheme == "redis") {
			t.Errorf("ParseURL(%q): %#v does not name the scheme", text, err)
		}
	}
}

func TestURLCheck(t *testing.T) {
	u, err := ParseURL("redis://h?zz=1&aa=2&known=3")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Check("aa", "known", "zz"); err != nil {
		t.Errorf("known parameters are refused: %v", err)
	}
	for range 20 { // the order of a map must not show
		err = u.Check("known", "other")
		want := `not a usable store URL (redis://…): parameter "aa": is not known; known are: known, other`
		if err == nil || err.Error() != want || !errors.Is(err, ErrURL) {
			t.Fatalf("Check says %v, want %s", err, want)
		}
	}
	if err := u.Check(); err == nil || !strings.Contains(err.Error(), "takes no parameters") {
		t.Errorf("Check without known parameters says %v", err)
	}
}

func TestURLParameters(t *testing.T) {
	u, err := ParseURL("x://?text=a&empty=&two=1&two=2&d=1m30s&i=-42&b=false&bad=x")
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, got any, err error, want any, says string) {
		t.Helper()
		e, isURL := errors.AsType[*URLError](err)
		if got != want || (err == nil) != (says == "") || err != nil && (!isURL || e.Param != name || !strings.Contains(err.Error(), says)) {
			t.Errorf("parameter %q: %v, %v; want %v and an error that says %q", name, got, err, want, says)
		}
	}
	text := func(name, want, says string) { got, err := u.Text(name, "missing"); check(name, got, err, want, says) }
	text("text", "a", "")
	text("empty", "", "")
	text("none", "missing", "")
	text("two", "", "more than once")
	duration := func(name string, want time.Duration, says string) {
		got, err := u.Duration(name, time.Hour)
		check(name, got, err, want, says)
	}
	duration("d", 90*time.Second, "")
	duration("none", time.Hour, "")
	duration("bad", time.Hour, "10s")
	duration("empty", time.Hour, "10s")
	duration("two", time.Hour, "more than once")
	number := func(name string, want int, says string) {
		got, err := u.Int(name, 7)
		check(name, got, err, want, says)
	}
	number("i", -42, "")
	number("none", 7, "")
	number("bad", 7, "whole number")
	number("two", 7, "more than once")
	truth := func(name string, want bool, says string) {
		got, err := u.Bool(name, true)
		check(name, got, err, want, says)
	}
	truth("b", false, "")
	truth("none", true, "")
	truth("bad", true, "true or false")
	truth("two", true, "more than once")
}

// What was read is printed so that it is read as the same again, but for its secrets; and what was not read is a *URLError.
func FuzzParseURL(f *testing.F) {
	for _, text := range urlSeeds {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseURL(text)
		if err != nil {
			if _, ok := errors.AsType[*URLError](err); !ok || u != nil {
				t.Fatalf("%v is no *URLError, or there is a URL as well: %v", err, u)
			}
			return
		}
		again, err := ParseURL(u.String())
		if err != nil {
			t.Fatalf("%q is printed as %q, which is refused: %v", text, u.String(), err)
		}
		if again.Scheme != u.Scheme || again.User != u.User || !slices.Equal(again.Hosts, u.Hosts) || again.Path != u.Path ||
			again.Password.Empty() != u.Password.Empty() || len(again.Params) > 0 {
			t.Fatalf("%q is printed as %q, which is read as something else", text, u.String())
		}
		if quoted, err := json.Marshal(u); err != nil || !json.Valid(quoted) {
			t.Fatalf("%q is marshalled as %s, %v", text, quoted, err)
		}
	})
}
