package redisconn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"os"
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

// The parameters of TLS, and all that Options knows.
var (
	tlsParams  = []string{"ca", "cert", "key", "servername", "insecure"}
	ownParams  = append([]string{"timeout"}, tlsParams...)
	noSuchFile = "names a file that cannot be read: "
)

// Options reads the parts of a redis:// or rediss:// URL that concern the connection:
//
//	redis[s]://user:password@host:port/db?timeout=5s
//	rediss://…?ca=FILE&cert=FILE&key=FILE&servername=NAME&insecure=true
//
// timeout is for a request that is not answered, and for connecting. ca are the certificates to trust, as PEM, instead of the system's;
// cert and key are those of this client; servername is the name in the server's certificate, if it is not the host. insecure=true
// accepts any certificate from anybody: whoever is on the way can then read and change everything. known lists further parameters,
// which the caller reads itself. Its errors are *driver.URLError.
func Options(u *driver.URL, known ...string) (rueidis.ClientOption, error) {
	var none rueidis.ClientOption
	if err := u.Check(append(known[:len(known):len(known)], ownParams...)...); err != nil {
		return none, err
	}
	host, address, err := hostOf(u)
	if err != nil {
		return none, err
	}
	db, err := databaseOf(u)
	if err != nil {
		return none, err
	}
	timeout, err := u.Duration("timeout", defaultTimeout)
	if err != nil {
		return none, err
	}
	if timeout < leastTimeout {
		return none, wrong(u, "timeout", "is too short; write at least "+leastTimeout.String())
	}
	secure, err := tlsOf(u, host)
	if err != nil {
		return none, err
	}
	o := rueidis.ClientOption{
		InitAddress: []string{address},
		SelectDB:    db,
		TLSConfig:   secure,
		ClientName:  "holdfast",

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
	return o, nil
}

func wrong(u *driver.URL, param, problem string) error {
	return &driver.URLError{Scheme: u.Scheme, Param: param, Problem: problem}
}

// hostOf returns the one host of u, without brackets, and its address.
func hostOf(u *driver.URL) (host, address string, err error) {
	if len(u.Hosts) != 1 {
		return "", "", wrong(u, "", "it must name exactly one host; write "+u.Scheme+"://127.0.0.1:6379, for instance")
	}
	host, port, err := net.SplitHostPort(u.Hosts[0])
	if err != nil { // no port: ParseURL has checked everything else
		host, port = strings.Trim(u.Hosts[0], "[]"), defaultPort
	}
	return host, net.JoinHostPort(host, port), nil
}

func databaseOf(u *driver.URL) (int, error) {
	text := strings.TrimPrefix(u.Path, "/")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31) // digits only: no sign
	if err != nil {
		return 0, wrong(u, "", "its path is the number of a database; write /0, or leave it out")
	}
	return int(n), nil
}

// tlsOf is nil for a connection in the clear.
func tlsOf(u *driver.URL, host string) (*tls.Config, error) {
	if u.Scheme != "rediss" {
		for _, param := range tlsParams {
			if len(u.Params[param]) > 0 {
				return nil, wrong(u, param, "is for TLS; write rediss:// instead of "+u.Scheme+"://, or leave it out")
			}
		}
		return nil, nil
	}
	name, err := u.Text("servername", host)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, wrong(u, "servername", "is empty; write the name in the server's certificate, or leave it out")
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name}
	if c.InsecureSkipVerify, err = u.Bool("insecure", false); err != nil {
		return nil, err
	}
	if c.RootCAs, err = authoritiesOf(u); err != nil {
		return nil, err
	}
	if c.InsecureSkipVerify && c.RootCAs != nil {
		return nil, wrong(u, "insecure", "contradicts ca: leave out one of the two, insecure if you can")
	}
	if c.Certificates, err = certificateOf(u); err != nil {
		return nil, err
	}
	return c, nil
}

// authoritiesOf is nil for those of the system.
func authoritiesOf(u *driver.URL) (*x509.CertPool, error) {
	pem, given, err := fileOf(u, "ca")
	if err != nil || !given {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, wrong(u, "ca", "names a file without a certificate; it must be PEM, with BEGIN CERTIFICATE")
	}
	return pool, nil
}

func certificateOf(u *driver.URL) ([]tls.Certificate, error) {
	cert, hasCert, err := fileOf(u, "cert")
	if err != nil {
		return nil, err
	}
	key, hasKey, err := fileOf(u, "key")
	switch {
	case err != nil:
		return nil, err
	case !hasCert && !hasKey:
		return nil, nil
	case !hasKey:
		return nil, wrong(u, "cert", "needs key=FILE beside it")
	case !hasCert:
		return nil, wrong(u, "key", "needs cert=FILE beside it")
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil { // its text can quote nothing but the kinds of PEM blocks
		return nil, wrong(u, "cert", "and key are not a pair of a certificate and its key, both PEM")
	}
	return []tls.Certificate{pair}, nil
}

// fileOf reads the file that a parameter names. Its errors do not repeat the name: nothing of a URL is printed.
func fileOf(u *driver.URL, param string) (content []byte, given bool, err error) {
	name, err := u.Text(param, "")
	if err != nil || len(u.Params[param]) == 0 {
		return nil, false, err
	}
	content, err = os.ReadFile(name)
	if err != nil {
		reason := "check the path and its permissions"
		if p := (*fs.PathError)(nil); errors.As(err, &p) {
			reason = p.Err.Error()
		}
		return nil, false, wrong(u, param, noSuchFile+reason)
	}
	return content, true, nil
}
