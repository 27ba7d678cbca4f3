package remote

import (
	"context"
	"net"
	"strings"

	"holdfast.dev/driver"
)

// Scheme is the scheme of the URLs that Open takes. Nothing registers it but a test that wants it.
const Scheme = "remote-test"

// Open is the driver.Opener of remote-test://HOST:PORT, for the test of a program that is given its store as a URL:
//
//	driver.Register(remote.Scheme, remote.Open)
//
// A user and a password are taken, and forgotten at once: a test can put a secret there, and look for it in all that the program
// says and passes on.
func Open(ctx context.Context, u *driver.URL) (driver.Store, error) {
	if err := u.Check(); err != nil {
		return nil, err
	}
	addr := strings.Join(u.Hosts, ",")
	if _, _, err := net.SplitHostPort(addr); err != nil || len(u.Hosts) > 1 || u.Path != "" {
		return nil, &driver.URLError{Scheme: u.Scheme, Problem: "it is not the address of one server; write " + Scheme + "://HOST:PORT"}
	}
	return Dial(ctx, addr)
}
