package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// A Flaw is what is wrong with a server's certificate.
type Flaw int

const (
	Flawless  Flaw = iota // valid for 127.0.0.1, ::1 and localhost
	Expired               // it was valid until yesterday
	WrongName             // it is another host's
)

// otherHost is whom a certificate with a wrong name belongs to.
const otherHost = "elsewhere.invalid"

// Certificates are files in PEM in a server's directory. The authority is the server's own, or the one of its primary: nobody else
// trusts it.
type Certificates struct {
	CA                    string // of the authority that has signed the others
	ServerCert, ServerKey string
	ClientCert, ClientKey string // for a server that asks its clients who they are

	authority *authority
	flaw      Flaw
}

// An authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Config trusts the authority, and nobody else, and shows the client's certificate if asked. A server with a flaw does not pass.
func (c *Certificates) Config() (*tls.Config, error) {
	client, err := tls.LoadX509KeyPair(c.ClientCert, c.ClientKey)
	if err != nil {
		return nil, fmt.Errorf("the client's certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(c.authority.cert)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, Certificates: []tls.Certificate{client}}, nil
}

// forgiving is Config, but for the flaw: this package must reach its own server.
func (c *Certificates) forgiving() (*tls.Config, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	switch c.flaw {
	case Expired:
		config.Time = func() time.Time { return time.Now().Add(-2 * day) }
	case WrongName:
		config.ServerName = otherHost
	}
	return config, nil
}

const day = 24 * time.Hour

// newCertificates writes an authority, a new one if it is nil, and what it signs.
func newCertificates(dir string, by *authority, flaw Flaw) (*Certificates, error) {
	if by == nil {
		var err error
		if by, err = newAuthority(); err != nil {
			return nil, err
		}
	}
	path := func(name string) string { return filepath.Join(dir, name+".pem") }
	c := &Certificates{
		CA:         path("ca"),
		ServerCert: path("server-cert"), ServerKey: path("server-key"),
		ClientCert: path("client-cert"), ClientKey: path("client-key"),
		authority: by, flaw: flaw,
	}
	if err := writePEM(c.CA, "CERTIFICATE", by.cert.Raw); err != nil {
		return nil, err
	}
	if err := by.issue(serverTemplate(flaw), c.ServerCert, c.ServerKey); err != nil {
		return nil, err
	}
	return c, by.issue(template("client"), c.ClientCert, c.ClientKey)
}

// template is valid for so long that a server whose clock was stepped still accepts it.
func template(name string) *x509.Certificate {
	serial := make([]byte, 16)
	rand.Read(serial)
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-1000 * day),
		NotAfter:     time.Now().Add(1000 * day),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		// A replica is a client too, with the certificate that it has as a server.
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

func serverTemplate(flaw Flaw) *x509.Certificate {
	t := template("server")
	t.DNSNames = []string{"localhost"}
	t.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	switch flaw {
	case Expired:
		t.NotAfter = time.Now().Add(-day)
	case WrongName:
		t.DNSNames, t.IPAddresses = []string{otherHost}, nil
	}
	return t
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template("holdfast test authority")
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage, t.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	raw, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key) // by itself
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(raw)
	return &authority{cert, key}, err
}

// issue signs a certificate and writes it, and a key of its own.
func (a *authority) issue(t *x509.Certificate, certFile, keyFile string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	raw, err := x509.CreateCertificate(rand.Reader, t, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	if err := writePEM(certFile, "CERTIFICATE", raw); err != nil {
		return err
	}
	if raw, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		return err
	}
	return writePEM(keyFile, "PRIVATE KEY", raw)
}

func writePEM(path, kind string, raw []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600)
}
