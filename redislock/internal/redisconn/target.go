package redisconn

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"

	"github.com/redis/rueidis"
)

// A Target is where a client connects to, and how. [Options] makes it. Its exported fields are rueidis's; of them InitAddress, and a
// DialCtxFn that replaces the dialling, are for a single server. Printing it shows no password.
type Target struct {
	rueidis.ClientOption
	sentinels *sentinels        // nil: InitAddress is the server's
	nat       map[string]string // told → reached
	named     bool              // TLSConfig has a name that is in all certificates
}

// reachable is where to dial for an address that was told.
func (t *Target) reachable(told string) string {
	if address, ok := t.nat[told]; ok {
		return address
	}
	return told
}

// open connects to an address, with TLS if that is asked for. It tells stage, if there is one, what it waits for.
func (t *Target) open(ctx context.Context, address string, stage func(string)) (net.Conn, error) {
	if stage == nil {
		stage = func(string) {}
	}
	if t.DialCtxFn != nil {
		stage(stageAnswer)
		return t.DialCtxFn(ctx, address, &t.Dialer, t.tlsFor(address))
	}
	stage(stageConnect)
	raw, err := t.Dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if t.TLSConfig == nil {
		stage(stageAnswer)
		return raw, nil
	}
	stage(stageTLS)
	secure := tls.Client(raw, t.tlsFor(address))
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		if isTimeout(err) {
			err = &hint{stageTLS, []error{ErrProtocol, os.ErrDeadlineExceeded}}
		}
		return nil, err
	}
	stage(stageSecure)
	return secure, nil
}

// tlsFor is nil without TLS.
func (t *Target) tlsFor(address string) *tls.Config {
	if t.TLSConfig == nil || t.named {
		return t.TLSConfig
	}
	c := t.TLSConfig.Clone()
	if host, _, err := net.SplitHostPort(address); err == nil {
		c.ServerName = host
	}
	return c
}

// greeting is HELLO with the servers' user and password.
func (t *Target) greeting() ([]string, error) {
	words := []string{"HELLO", "2"}
	if t.AuthCredentialsFn == nil {
		return words, nil
	}
	who, err := t.AuthCredentialsFn(rueidis.AuthCredentialsContext{})
	if err != nil {
		return nil, err
	}
	if who.Username == "" {
		who.Username = "default"
	}
	return append(words, "AUTH", who.Username, who.Password), nil
}

// greet says HELLO on a new connection to a server, and returns what the server says of itself. HELLO is permitted to everybody, other
// than ROLE and INFO, and rueidis may say it again.
func (t *Target) greet(ctx context.Context, conn net.Conn) (map[string]string, error) {
	words, err := t.greeting()
	if err != nil {
		return nil, err
	}
	answers, err := newTalk(conn).ask(ctx, words)
	if err != nil {
		return nil, err
	}
	if text, no := answers[0].(declined); no {
		return nil, reply(string(text))
	}
	fields := fieldsOf(answers[0])
	if fields == nil {
		return nil, errForeign
	}
	return fields, nil
}

// hangUp closes a connection without waiting for the other side: TLS can wait for one that does not read.
func hangUp(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	conn.Close()
}

// Format prints no more than where it goes: a Target's parts have passwords.
func (t Target) Format(f fmt.State, _ rune) {
	if t.sentinels != nil {
		fmt.Fprintf(f, "%q of the Sentinels %q", t.sentinels.name, t.sentinels.addresses)
		return
	}
	fmt.Fprintf(f, "%q", t.InitAddress)
}
