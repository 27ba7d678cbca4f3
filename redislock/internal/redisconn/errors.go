package redisconn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"syscall"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
)

// What a server refuses for. Each is found by errors.Is; the text of the error says what to do.
var (
	ErrAuth        = errors.New("wrong or missing password")
	ErrPermission  = errors.New("no permission")
	ErrReadOnly    = errors.New("read-only replica")
	ErrMemory      = errors.New("out of memory")
	ErrPersistence = errors.New("cannot persist")
	ErrReplicas    = errors.New("not enough replicas")
	ErrKeyType     = errors.New("key of another kind")
	ErrDatabase    = errors.New("no such database")
	ErrFunctions   = errors.New("no functions")
	ErrCluster     = errors.New("cluster")
	ErrReplaced    = errors.New("library replaced")
	ErrSentinel    = errors.New("no such primary")

	// ErrTemporary is no refusal: the server cannot answer yet.
	ErrTemporary = errors.New("temporarily unable")

	// ErrProtocol: the other side does not speak as expected: TLS or none, or no Redis at all.
	ErrProtocol = errors.New("not the expected protocol")
)

// A ServerError is an error that the server replied with.
type ServerError struct {
	Code    string // the first word of the reply: "OOM"; "ERR" if it is nothing better
	Message string // what happened and what to do next, in our own words, perhaps with a harmless part of the reply
	Err     error  // its kind: one of this package's variables, or nil
}

func (e *ServerError) Error() string { return e.Message + " (" + e.Code + ")" }

// Unwrap returns the kind.
func (e *ServerError) Unwrap() error { return e.Err }

// A hint adds what to do next to an error of the network.
type hint struct {
	text string
	errs []error
}

func (h *hint) Error() string   { return h.text + ": " + h.errs[len(h.errs)-1].Error() }
func (h *hint) Unwrap() []error { return h.errs }

// Error translates an error of rueidis:
//
//   - a reply with which the server certainly declined: *driver.Refused around *ServerError;
//   - a reply that says "not now", and one from the middle of a function that failed in a way nobody foresaw: *ServerError alone, which
//     is unknown to the core;
//   - rueidis.ErrClosing: driver.ErrClosed;
//   - what shows that the two sides do not speak the same protocol, or that a certificate is not accepted: with a hint, unknown;
//   - everything else, the ends of contexts and connections: as it is, unknown.
//
// What it has translated already it leaves alone.
func Error(err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *driver.Refused, *ServerError, *hint:
		return err
	case *rueidis.RedisError:
		if e.IsNil() {
			return err
		}
		return reply(e.Error())
	}
	switch {
	case errors.Is(err, rueidis.ErrClosing), errors.Is(err, rueidis.ErrDedicatedClientRecycled):
		return driver.ErrClosed
	case errors.Is(err, driver.ErrClosed):
		return err
	}
	return network(err)
}

// network adds a hint where the cause of an error is known.
func network(err error) error {
	var (
		record    tls.RecordHeaderError
		alert     tls.AlertError
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		lookup    *net.DNSError
	)
	switch text := err.Error(); {
	case errors.As(err, &record), strings.Contains(text, "first record does not look like a TLS handshake"):
		return &hint{"the server does not speak TLS at this port; use redis:// or its TLS port", []error{ErrProtocol, err}}
	case errors.As(err, &authority):
		return &hint{"the server's certificate is signed by an unknown authority; name its certificate with ca=FILE", []error{err}}
	case errors.As(err, &name):
		return &hint{"the server's certificate is for another name; use that name in the URL, or servername=NAME", []error{err}}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return &hint{"the server's certificate is not valid now; renew it, and look at the clocks of both machines", []error{err}}
	case errors.As(err, &alert):
		return &hint{"the server did not accept this client's TLS; it may ask for a certificate: cert=FILE and key=FILE", []error{err}}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &hint{"nobody listens at this address; start the server, or correct host and port", []error{err}}
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return &hint{"there is no host of that name; correct it", []error{err}}
	case strings.Contains(text, "received unknown message type"), strings.Contains(text, "received unexpected number byte"),
		strings.Contains(text, "received unexpected simple string"):
		return &hint{"no Redis answers at this address; look at host and port", []error{ErrProtocol, err}}
	}
	if op, ok := err.(*net.OpError); ok && op.Source != nil {
		return &portless{op}
	}
	return err
}

// portless is an error of a connection, said without its addresses: this side's port differs each time, and tells nobody anything.
type portless struct{ op *net.OpError }

func (e *portless) Error() string { return e.op.Op + ": " + e.op.Err.Error() }

// Unwrap returns the error itself.
func (e *portless) Unwrap() error { return e.op }

// kindOf returns the server's error inside err, or nil.
func kindOf(err error) *ServerError {
	var e *ServerError
	errors.As(err, &e)
	return e
}
