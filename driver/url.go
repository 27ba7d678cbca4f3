package driver

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ErrURL: the text is not the URL of a store, or a parameter in it is unknown or malformed. See *URLError.
var ErrURL = errors.New("not a usable store URL")

// A URLError says what is wrong with a store's URL. It repeats nothing of the URL but its scheme and the names of well-formed
// parameters, because a password can stand at any place of a malformed URL.
type URLError struct {
	Scheme  string // if it could be read
	Param   string // the parameter that is wrong, if it is one
	Problem string // what is wrong, and what to write instead
}

func (e *URLError) Error() string {
	text := ErrURL.Error()
	if e.Scheme != "" {
		text += " (" + e.Scheme + "://…)"
	}
	if e.Param != "" {
		text += ": parameter " + strconv.Quote(e.Param)
	}
	return text + ": " + e.Problem
}

// Is makes a URLError ErrURL.
func (e *URLError) Is(target error) bool { return target == ErrURL }

// A URL is the parsed address of a store:
//
//	scheme://user:password@host1:port,host2:port/path?parameter=value&…
//
// Every part but the scheme may be missing; special characters are percent-encoded. Printing a URL never shows the password, nor
// any parameter's value, because parameters can contain URLs themselves.
type URL struct {
	Scheme   string
	User     string
	Password Secret
	Hosts    []string // as written: "host", "host:port", "[::1]:port"
	Path     string   // decoded, with its leading slash
	Params   map[string][]Secret
}

// ParseURL parses a store's URL. Its error is a *URLError.
func ParseURL(text string) (*URL, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || !validScheme(scheme) {
		return nil, &URLError{Problem: "it does not begin with a scheme; write file:///var/lib/x, for instance: schemes are lower case, followed by ://"}
	}
	u := &URL{Scheme: scheme}
	bad := func(problem string) (*URL, error) { return nil, &URLError{Scheme: scheme, Problem: problem} }

	if strings.ContainsFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) || !utf8.ValidString(rest) {
		return bad("it contains a space, a control character or invalid UTF-8; percent-encode it")
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if strings.Contains(text, "#") && !strings.Contains(rest+query, "@") {
		return bad("a # is not percent-encoded; write %23 for it")
	}
	if spills(authority, path+query) || strings.Contains(text, "#") {
		return bad("a character of the password, or an @ or # elsewhere, is not percent-encoded; write %2F for /, %3F for ?, %23 for #, %40 for @")
	}
	var err error
	if userinfo, hosts, found := strings.Cut(authority, "@"); found {
		authority = hosts
		user, password, _ := strings.Cut(userinfo, ":")
		if u.User, err = url.PathUnescape(user); err != nil {
			return bad("its user name is not percent-encoded correctly")
		}
		if password, err = url.PathUnescape(password); err != nil {
			return bad("its password is not percent-encoded correctly")
		}
		u.Password = NewSecret(password)
	}
	if authority != "" {
		u.Hosts = strings.Split(authority, ",")
		if !slices.ContainsFunc(u.Hosts, func(h string) bool { return !validHost(h) }) {
			authority = ""
		}
	}
	if authority != "" {
		return bad(hostsProblem(scheme, authority))
	}
	if u.Path, err = url.PathUnescape(path); err != nil {
		return bad("its path is not percent-encoded correctly")
	}
	if u.Params, err = parseParams(query); err != nil {
		return bad(err.Error())
	}
	return u, nil
}

// hostsProblem says what to write instead of a malformed host list: a drive of Windows belongs to the path.
func hostsProblem(scheme, hosts string) string {
	if drive, _, found := strings.Cut(hosts, ":"); found && len(drive) == 1 && scheme == "file" {
		return "a drive is written behind three slashes, file:///C:/locks for instance"
	}
	return "its host list is malformed; write host:port, or [::1]:port, separated by commas, with ports from 1 to 65535"
}

// spills reports whether a password that was not encoded may have spilled over into what follows it: then nothing of it may be read
// as something else, which would be printed. Without an authority an @ is common (file:///home/me@work), but not behind a colon.
func spills(authority, follows string) bool {
	last := strings.LastIndexByte(follows, '@')
	return strings.Count(authority, "@") > 1 || last >= 0 && (authority != "" || strings.Contains(follows[:last], ":"))
}

func parseParams(query string) (map[string][]Secret, error) {
	params := make(map[string][]Secret)
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		if !found || !validParam(name) {
			return nil, errors.New("its parameters are malformed; write ?name=value&name=value")
		}
		value, err := url.QueryUnescape(value)
		if err != nil {
			return nil, errors.New("the value of a parameter is not percent-encoded correctly")
		}
		params[name] = append(params[name], NewSecret(value))
	}
	return params, nil
}

// Check refuses every parameter that is not in known, and names those that are.
func (u *URL) Check(known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(u.Params)) {
		if !slices.Contains(known, name) {
			problem := "is not known; this store takes no parameters"
			if len(known) > 0 {
				problem = "is not known; known are: " + strings.Join(known, ", ")
			}
			return &URLError{Scheme: u.Scheme, Param: name, Problem: problem}
		}
	}
	return nil
}

// Text returns a parameter, or missing if it is not given. Given twice it is an error.
func (u *URL) Text(name, missing string) (string, error) {
	switch values := u.Params[name]; len(values) {
	case 0:
		return missing, nil
	case 1:
		return values[0].Reveal(), nil
	}
	return "", u.wrong(name, "is given more than once")
}

// Duration returns a parameter such as 10s or 1m30s.
func (u *URL) Duration(name string, missing time.Duration) (time.Duration, error) {
	return parseParam(u, name, missing, time.ParseDuration, "takes a duration such as 500ms, 10s or 1m30s")
}

// Int returns a parameter that is a whole number.
func (u *URL) Int(name string, missing int) (int, error) {
	return parseParam(u, name, missing, strconv.Atoi, "takes a whole number")
}

// Bool returns a parameter that is true or false.
func (u *URL) Bool(name string, missing bool) (bool, error) {
	return parseParam(u, name, missing, strconv.ParseBool, "takes true or false")
}

func parseParam[T any](u *URL, name string, missing T, parse func(string) (T, error), takes string) (T, error) {
	text, err := u.Text(name, "")
	if err != nil {
		return missing, err
	}
	if text == "" && len(u.Params[name]) == 0 {
		return missing, nil
	}
	value, err := parse(text)
	if err != nil {
		return missing, u.wrong(name, takes)
	}
	return value, nil
}

func (u *URL) wrong(param, problem string) error {
	return &URLError{Scheme: u.Scheme, Param: param, Problem: problem}
}

// String prints the URL without its password and without parameters. What it prints can be parsed again.
func (u URL) String() string {
	var b strings.Builder
	b.WriteString(u.Scheme + "://")
	if u.User != "" || !u.Password.Empty() {
		b.WriteString(url.User(u.User).String())
		if !u.Password.Empty() {
			b.WriteString(":***")
		}
		b.WriteString("@")
	}
	b.WriteString(strings.Join(u.Hosts, ","))
	b.WriteString(strings.ReplaceAll((&url.URL{Path: u.Path}).EscapedPath(), "@", "%40"))
	return b.String()
}

// Format prints String, whatever the verb, so that %+v and %#v show no secret either.
func (u URL) Format(f fmt.State, _ rune) { io.WriteString(f, u.String()) }

// MarshalText writes String.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

func validScheme(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '+' || r == '-' || r == '.')
	})
}

func validParam(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}

func validHost(s string) bool {
	host, port, found := strings.Cut(s, ":")
	if strings.HasPrefix(s, "[") {
		address, after, closed := strings.Cut(s[1:], "]")
		ip, err := netip.ParseAddr(address)
		if !closed || err != nil || !ip.Is6() || ip.Zone() != "" {
			return false
		}
		host, port, found = strings.Cut(after, ":")
		if host != "" {
			return false
		}
	} else if host == "" || strings.ContainsAny(host, "[]%\\\"'<>{}|^`") {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16) // digits only: no sign
	return !found || err == nil && n > 0
}
