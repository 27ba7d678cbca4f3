package redisconn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"strings"

	"holdfast.dev/driver"
)

var tlsParams = []string{"ca", "cert", "key", "servername", "insecure"}

const noSuchFile = "names a file that cannot be read: "

// tlsOf is nil for a connection in the clear. Without a host it has a name only if servername= says so: see Target.tlsFor.
func tlsOf(u *driver.URL, host string) (*tls.Config, error) {
	if !strings.HasPrefix(u.Scheme, "rediss") {
		for _, param := range tlsParams {
			if len(u.Params[param]) > 0 {
				secure := "rediss" + strings.TrimPrefix(u.Scheme, "redis")
				return nil, wrong(u, param, "is for TLS; write "+secure+":// instead of "+u.Scheme+"://, or leave it out")
			}
		}
		return nil, nil
	}
	name, err := u.Text("servername", host)
	if err != nil {
		return nil, err
	}
	if name == "" && len(u.Params["servername"]) > 0 {
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
