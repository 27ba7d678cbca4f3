package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Redis is a Redis server, 7.0 or later.
type Redis struct {
	*Server

	// Certificates are nil without TLS.
	Certificates *Certificates

	path           string
	settings       redisSettings
	user, password string // for our own connections, and replicas'
}

// ourUser is whom RedisUsers adds.
const ourUser = "holdfast-servers"

// StartRedis starts a Redis server, with nothing kept on disk unless an option says so: save "", appendonly no. DEBUG is allowed, and
// replicas are served at once. The context bounds the start alone; Close ends the server.
func StartRedis(ctx context.Context, options ...RedisOption) (*Redis, error) {
	r := new(Redis)
	r.settings.program = "redis-server"
	for _, option := range options {
		option(&r.settings)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("starting redis: %w", err)
	}
	var err error
	if r.path, err = find(r.settings.program, "redis-server"); err != nil {
		return nil, err
	}
	if r.Server, err = newServer("redis"); err != nil {
		return nil, err
	}
	r.Server.kind = r
	if err := r.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing redis: %w", err), r.Close())
	}
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	if r.settings.primary != nil {
		ctx, cancel := context.WithTimeout(ctx, startLimit)
		defer cancel()
		if err := r.Sync(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("%w; the end of its log:\n%s", err, r.Log()), r.Close())
		}
	}
	return r, nil
}

// check finds options that do not go together.
func (r *Redis) check() error {
	s := r.settings
	switch {
	case s.password != "" && s.users != nil:
		return errors.New("a password and users: give the default user its password among the users")
	case s.primary != nil && s.primary.Certificates != nil && !s.tls:
		return errors.New("the primary speaks TLS: its replica needs RedisTLS too")
	}
	for _, addr := range []string{s.follows, s.announce} {
		if _, _, err := net.SplitHostPort(addr); addr != "" && err != nil {
			return fmt.Errorf("an address for replicas: write host:port: %w", err)
		}
	}
	return nil
}

// prepare makes what does not depend on the port.
func (r *Redis) prepare(ctx context.Context) (err error) {
	s := r.settings
	if s.clock {
		if r.clock, err = newClock(ctx, r.dir); err != nil {
			return err
		}
	}
	if s.tls {
		var by *authority
		if s.primary != nil && s.primary.Certificates != nil {
			by = s.primary.Certificates.authority // they trust each other
		}
		if r.Certificates, err = newCertificates(r.dir, by, s.flaw); err != nil {
			return err
		}
	}
	r.password = s.password
	if s.users != nil {
		r.user, r.password = ourUser, rand.Text()
		own := ourUser + " on >" + r.password + " ~* &* +@all"
		text := "user " + strings.Join(append([]string{own}, s.users...), "\nuser ") + "\n"
		err = os.WriteFile(r.file("users.acl"), []byte(text), 0o600)
	}
	return err
}

func (r *Redis) file(name string) string { return filepath.Join(r.dir, name) }

// configure writes redis.conf. A restart leaves it as it is: what CONFIG REWRITE has made of it counts.
func (r *Redis) configure() error { return r.writeSettings() }

// writeSettings writes redis.conf as the options want it, and what is to be added.
func (r *Redis) writeSettings(more ...string) error {
	s, port := r.settings, strconv.Itoa(r.port)
	lines := [][]string{
		{"bind", "127.0.0.1"},
		{"dir", r.dir},
		{"save", ""},
		{"appendonly", "no"},
		{"repl-diskless-sync-delay", "0"},
		{"enable-debug-command", "local"},
	}
	if s.tls {
		c := r.Certificates
		lines = append(lines, []string{"port", "0"}, []string{"tls-port", port}, []string{"tls-auth-clients", "no"},
			[]string{"tls-cert-file", c.ServerCert}, []string{"tls-key-file", c.ServerKey}, []string{"tls-ca-cert-file", c.CA})
	} else {
		lines = append(lines, []string{"port", port})
	}
	if s.password != "" {
		lines = append(lines, []string{"requirepass", s.password})
	}
	if s.users != nil {
		lines = append(lines, []string{"aclfile", r.file("users.acl")})
	}
	lines = append(lines, r.replication()...)
	var text strings.Builder
	for _, line := range append(lines, s.lines...) {
		text.WriteString(line[0])
		for _, value := range line[1:] {
			text.WriteString(" " + quote(value))
		}
		text.WriteString("\n")
	}
	for _, line := range more {
		text.WriteString(line + "\n")
	}
	return os.WriteFile(r.file("redis.conf"), []byte(text.String()), 0o600)
}

// quote writes a value as redis.conf wants it, whatever bytes it has.
func quote(value string) string {
	var quoted strings.Builder
	quoted.WriteByte('"')
	for _, b := range []byte(value) {
		if b < ' ' || b > '~' || b == '"' || b == '\\' {
			fmt.Fprintf(&quoted, `\x%02x`, b)
		} else {
			quoted.WriteByte(b)
		}
	}
	return quoted.String() + `"`
}

func (r *Redis) command() (path string, args, env []string) {
	return r.path, []string{r.file("redis.conf")}, nil
}

func (r *Redis) answers(ctx context.Context, pid int) error {
	conn, err := r.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.isProcess(ctx, pid)
}
