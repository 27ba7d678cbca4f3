package redisconn

import (
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
)

const (
	defaultPort    = "6379"
	defaultTimeout = 5 * time.Second
	leastTimeout   = 50 * time.Millisecond

	// A lock's commands are some hundred bytes. rueidis keeps half a MiB for each direction of each connection if it is not told otherwise.
	bufferSize = 16 << 10

	// How many requests may be under way on a connection, as a power of two: each place costs about 400 bytes.
	ringScale = 9
)

// ownParams are those that every URL can have.
var ownParams = append(append([]string{"timeout"}, tlsParams...), "nat")

// Options reads the parts of a URL that concern the connection:
//
//	redis[s]://user:password@host:port/db?timeout=5s&nat=TOLD=REACHED,…
//	redis[s]+sentinel://user:password@host1:port,host2,host3/NAME/db?sentinel-user=NAME&sentinel-password=TEXT&…
//	rediss…://…?ca=FILE&cert=FILE&key=FILE&servername=NAME&insecure=true
//
// timeout is for a request that is not answered, and for connecting. nat lists pairs of addresses, both host:port: what servers and
// Sentinels tell, and what can be reached from here, where containers or a router stand between. The hosts of a +sentinel URL are the
// Sentinels, NAME is what they call the primary; user and password are the servers', sentinel-user and sentinel-password the Sentinels'.
//
// ca are the certificates to trust, as PEM, instead of the system's; cert and key are those of this client; servername is the name in
// the certificates, if it is not the host that is connected to. insecure=true accepts any certificate from anybody: whoever is on the way
// can then read and change everything. known lists further parameters, which the caller reads itself. Its errors are *driver.URLError.
func Options(u *driver.URL, known ...string) (Target, error) {
	var none Target
	params := append(known[:len(known):len(known)], ownParams...)
	if hasSentinels(u) {
		params = append(params, sentinelParams...)
	}
	if err := u.Check(params...); err != nil {
		return none, err
	}
	timeout, err := timeoutOf(u)
	if err != nil {
		return none, err
	}
	t := Target{ClientOption: clientOption(u, timeout), named: len(u.Params["servername"]) > 0}
	host := ""
	if hasSentinels(u) {
		err = t.readSentinels(u, timeout)
	} else {
		host, err = t.readServer(u)
	}
	if err != nil {
		return none, err
	}
	if t.TLSConfig, err = tlsOf(u, host); err != nil {
		return none, err
	}
	if t.nat, err = natOf(u); err != nil {
		return none, err
	}
	return t, nil
}

func timeoutOf(u *driver.URL) (time.Duration, error) {
	timeout, err := u.Duration("timeout", defaultTimeout)
	if err == nil && timeout < leastTimeout {
		err = wrong(u, "timeout", "is too short; write at least "+leastTimeout.String())
	}
	return timeout, err
}

// readServer reads where the one server is.
func (t *Target) readServer(u *driver.URL) (host string, err error) {
	if len(u.Hosts) != 1 {
		return "", wrong(u, "", "it must name exactly one host; write "+u.Scheme+"://127.0.0.1:6379, for instance; for Sentinels "+u.Scheme+"+sentinel://HOST,HOST,HOST/NAME")
	}
	host, address := withPort(u.Hosts[0], defaultPort)
	t.InitAddress = []string{address}
	t.SelectDB, err = databaseOf(u, strings.TrimPrefix(u.Path, "/"))
	return host, err
}

// clientOption is what all URLs have in common.
func clientOption(u *driver.URL, timeout time.Duration) rueidis.ClientOption {
	o := rueidis.ClientOption{
		ClientName: "holdfast",

		// KeepAlive is also how long rueidis waits before it asks a silent connection whether it lives.
		Dialer:           net.Dialer{Timeout: timeout, KeepAlive: timeout / 5},
		ConnWriteTimeout: timeout,

		ForceSingleClient:   true,
		DisableRetry:        true,                         // the core repeats, and knows when it may
		DisableCache:        true,                         // no CLIENT TRACKING: fewer rights, less memory
		ClientSetInfo:       rueidis.DisableClientSetInfo, // the same
		PipelineMultiplex:   -1,                           // one connection: requests arrive in the order in which they were made
		ReadBufferEachConn:  bufferSize,
		WriteBufferEachConn: bufferSize,
		RingScaleEachConn:   ringScale,
	}
	if user, password := u.User, u.Password; user != "" || !password.Empty() {
		// A function instead of two fields: printing the options then shows no password.
		o.AuthCredentialsFn = func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
			return rueidis.AuthCredentials{Username: user, Password: password.Reveal()}, nil
		}
	}
	return o
}

func wrong(u *driver.URL, param, problem string) error {
	return &driver.URLError{Scheme: u.Scheme, Param: param, Problem: problem}
}

// withPort returns the host, without brackets, and the address of what a URL names.
func withPort(text, missing string) (host, address string) {
	host, port, err := net.SplitHostPort(text)
	if err != nil { // no port: ParseURL has checked everything else
		host, port = strings.Trim(text, "[]"), missing
	}
	return host, net.JoinHostPort(host, port)
}

func databaseOf(u *driver.URL, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31) // digits only: no sign
	switch {
	case err == nil:
		return int(n), nil
	case hasSentinels(u):
		return 0, wrong(u, "", "the second part of its path is the number of a database; write /"+exampleName+"/0, or leave it out")
	}
	return 0, wrong(u, "", "its path is the number of a database; write /0, or leave it out")
}
