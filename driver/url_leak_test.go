package driver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// urlSeeds are well-formed and malformed URLs to put a password into.
var urlSeeds = []string{
	"redis://user:password@host1:6379,[::1]:6380/0?password=secret&tls=true",
	"redis://:password@host",
	"postgres://user@host/db?x=%40%2f",
	"file:///home/me@work/locks?mode=0600",
	"mem://",
	"redis://user:pa/ss@host",
	"redis://user:pa?ss=1@host/0",
	"redis://user:pa#ss@host",
	"redis://user:p@ss@host",
	"redis:///user:password@host",
	"redis://?a=b:&password=@host",
	"redis:user:password@host",
	"redis://user:%zz@host:port/%zz?a=%zz&b",
}

var (
	common      = []string{"%v", "%+v", "%#v", "%q", "%x", "%d", "%w"}
	canaryForms = func() map[string][]string {
		forms := make(map[string][]string)
		for _, format := range common {
			forms[format] = formsOf(format, canary)
		}
		return forms
	}()
)

// mustHide checks the ways of printing that programs use; hides checks them all, and is slower.
func mustHide(t *testing.T, text string, values ...any) {
	t.Helper()
	for _, value := range values {
		for _, format := range common {
			shown := fmt.Sprintf(format, value)
			for _, needle := range canaryForms[format] {
				if strings.Contains(shown, needle) {
					t.Errorf("%q of the %T from %q shows the password: %s", format, value, text, shown)
				}
			}
		}
		if shown, err := json.Marshal(value); err == nil && strings.Contains(string(shown), canary) {
			t.Errorf("json of the %T from %q shows the password: %s", value, text, shown)
		}
	}
}

// mustHideURL checks everything that comes of text. Where the canary is not in the place of a user, host or path, which are no
// secrets, nothing shows it; nor may an error show it, unless it is the name of a parameter.
func mustHideURL(t *testing.T, text string) (public bool) {
	t.Helper()
	u, err := ParseURL(text)
	if err != nil {
		mustHide(t, text, err, fmt.Errorf("open: %w", err), exported[error]{err}, inside[error]{err})
		return false
	}
	named := false
	for name := range u.Params {
		if strings.Contains(name, canary) {
			named = true
			continue
		}
		_, textErr := u.Text(name, "")
		_, durationErr := u.Duration(name, 0)
		_, intErr := u.Int(name, 0)
		_, boolErr := u.Bool(name, false)
		mustHide(t, text, textErr, durationErr, intErr, boolErr)
	}
	if !named {
		mustHide(t, text, u.Check())
	}
	public = strings.Contains(u.User+"\n"+strings.Join(u.Hosts, "\n")+"\n"+u.Path, canary)
	if !public {
		mustHide(t, text, u.String(), u.Password)
	}
	if !public && !named { // where fmt asks no methods it shows the names of parameters
		mustHide(t, text, u, *u, exported[*URL]{u}, exported[URL]{*u}, inside[*URL]{u}, inside[URL]{*u}, []URL{*u}, map[string]*URL{"": u})
	}
	return public
}

func TestURLHidesAPasswordAtEveryPlace(t *testing.T) {
	hidden, public := 0, 0
	puts := []string{canary, ":" + canary + "@", canary + "@"}
	for _, c := range ":/?%=#" {
		puts = append(puts, string(c)+canary)
	}
	for _, seed := range urlSeeds {
		for i := range len(seed) + 1 {
			for _, put := range puts {
				if mustHideURL(t, seed[:i]+put+seed[i:]) {
					public++
				} else {
					hidden++
				}
			}
		}
	}
	if hidden < 1000 || public < 100 {
		t.Errorf("%d times hidden, %d times in a public place: the test does not test what it should", hidden, public)
	}
}

// A password between a colon and an @ is never shown, whatever is beside it: not even when it is not encoded and spills over.
func FuzzURLHidesPassword(f *testing.F) {
	f.Add("user", "", "", "host:6379/0")
	f.Add("", "", "", "")
	for c := range strings.SplitSeq("/ ? # @ : % & = [ ] , \\ \xff \t ?a= &a= @h/ @h?a= 6379/ ://", " ") {
		f.Add(c, "", "", "host")
		f.Add("user", c, "", "host")
		f.Add("user", "", c, "host")
		f.Add("user", "", "", c)
		f.Add(c, c, c, c)
	}
	f.Fuzz(func(t *testing.T, user, before, after, rest string) {
		text := "redis://" + user + ":" + before + canary + after + "@" + rest
		if strings.Count(text, canary) > 1 {
			t.Skip("the fuzzer has found the canary, and put it elsewhere")
		}
		if mustHideURL(t, text) {
			u, _ := ParseURL(text)
			t.Errorf("%q is read as user %q, hosts %q, path %q", text, u.User, u.Hosts, u.Path)
		}
		u, err := ParseURL(text)
		if err == nil && !strings.Contains(u.Password.Reveal(), canary) {
			t.Errorf("%q is read as if the password were something else: %v", text, u)
		}
	})
}

func TestURLHidesItsSecretsInEveryVerb(t *testing.T) {
	u, err := ParseURL("redis://user:" + canary + "@host/0?password=" + canary + "&url=redis://:" + strings.ToLower(canary) + "%40h")
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%q", "%x", "%d", "%s"} {
		for _, value := range []any{u, *u} {
			if got, want := fmt.Sprintf(format, value), "redis://user:***@host/0"; got != want {
				t.Errorf("%s of a %T prints %s, want %s", format, value, got, want)
			}
		}
	}
	if got, err := json.Marshal(exported[URL]{*u}); string(got) != `{"V":"redis://user:***@host/0"}` || err != nil {
		t.Errorf("json: %s, %v", got, err)
	}
	hides(t, u, canary, strings.ToLower(canary))
	hides(t, *u, canary, strings.ToLower(canary))
	_, err = ParseURL("redis://user:" + canary + "@host:port")
	hides(t, err, canary)
}

func TestURLErrorText(t *testing.T) {
	for _, c := range []struct {
		err  URLError
		want string
	}{
		{URLError{Problem: "it is bad"}, "not a usable store URL: it is bad"},
		{URLError{Scheme: "redis", Problem: "it is bad"}, "not a usable store URL (redis://…): it is bad"},
		{URLError{Scheme: "redis", Param: "ttl", Problem: "is bad"}, `not a usable store URL (redis://…): parameter "ttl": is bad`},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
