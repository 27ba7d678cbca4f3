package redisconn

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/driver"
)

const (
	sentinelPort = "26379"
	exampleName  = "mymaster"
)

var sentinelParams = []string{"sentinel-user", "sentinel-password"}

func hasSentinels(u *driver.URL) bool { return strings.HasSuffix(u.Scheme, "+sentinel") }

// readSentinels reads who is asked where the server is, and the name to ask for.
func (t *Target) readSentinels(u *driver.URL, timeout time.Duration) (err error) {
	s := &sentinels{limit: timeout / 2} // the other half is for the server
	for _, host := range u.Hosts {
		_, address := withPort(host, sentinelPort)
		if slices.Contains(s.addresses, address) {
			return wrong(u, "", "it names a Sentinel twice; name each once: a majority of them decides")
		}
		s.addresses = append(s.addresses, address)
	}
	name, db, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if len(s.addresses) == 0 || !isPrimaryName(name) {
		return wrong(u, "", "it must name the Sentinels, and what they call the primary; write "+u.Scheme+"://host1,host2,host3/"+exampleName+", for instance")
	}
	if t.SelectDB, err = databaseOf(u, db); err != nil {
		return err
	}
	if s.user, err = u.Text("sentinel-user", ""); err != nil {
		return err
	}
	password, err := u.Text("sentinel-password", "")
	switch {
	case err != nil:
		return err
	case password == "" && (s.user != "" || len(u.Params["sentinel-password"]) > 0):
		return wrong(u, "sentinel-password", "is missing or empty; write the password for the Sentinels, or leave out sentinel-user as well")
	}
	s.name, s.password = name, driver.NewSecret(password)
	t.sentinels = s
	t.InitAddress = []string{name} // for rueidis, which only passes it on to the dialler
	return nil
}

// isPrimaryName reports whether Sentinel would take such a name. Nothing else is ever sent or printed as one.
func isPrimaryName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_')
	})
}

// natOf reads nat=TOLD=REACHED,…
func natOf(u *driver.URL) (map[string]string, error) {
	text, err := u.Text("nat", "")
	if err != nil || len(u.Params["nat"]) == 0 {
		return nil, err
	}
	nat := make(map[string]string)
	for pair := range strings.SplitSeq(text, ",") {
		from, to, _ := strings.Cut(pair, "=")
		told, ok := addressOf(from)
		reached, ok2 := addressOf(to)
		if _, twice := nat[told]; twice || !ok || !ok2 {
			return nil, wrong(u, "nat", "is a list of pairs, each address that is told once: nat=TOLD=REACHED,TOLD=REACHED with host:port for both, such as nat=10.0.0.1:6379=localhost:7001")
		}
		nat[told] = reached
	}
	return nat, nil
}

// addressOf returns host:port in one form, so that addresses can be compared: lower case, IP addresses as Go writes them.
func addressOf(text string) (string, bool) {
	host, port, err := net.SplitHostPort(text)
	n, err2 := strconv.ParseUint(port, 10, 16)
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`=/@<>"'\`, r) } // it is printed in errors
	if err != nil || err2 != nil || host == "" || n == 0 || strings.ContainsFunc(host, odd) {
		return "", false
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	return net.JoinHostPort(strings.ToLower(host), strconv.FormatUint(n, 10)), true
}
