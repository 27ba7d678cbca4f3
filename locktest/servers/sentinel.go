package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Sentinel watches a primary and its replicas, and makes one of them the primary when that is gone. It is redis-server itself, in
// another mode.
type Sentinel struct {
	*Server

	// Certificates are nil without TLS.
	Certificates *Certificates

	path     string
	name     string // of the primary
	primary  *Redis
	settings sentinelSettings
}

// A SentinelOption says how a Sentinel is to be started.
type SentinelOption func(*sentinelSettings)

type sentinelSettings struct {
	quorum          int
	downAfter       time.Duration
	failoverTimeout time.Duration
	watch           string
	announce        string
	password        string
	hurry           bool
	tls             bool
	flaw            Flaw
	lines           []string
}

// SentinelQuorum is how many Sentinels must agree that the primary is down. Without it 2: of three Sentinels.
func SentinelQuorum(n int) SentinelOption { return func(s *sentinelSettings) { s.quorum = n } }

// SentinelDownAfter is how long a server must be silent until it counts as down. Without it a second and a half: a Sentinel connects to a
// server once a second at most, and a failover ends all connections, so that with less the new primary often counts as down as well.
func SentinelDownAfter(d time.Duration) SentinelOption {
	return func(s *sentinelSettings) { s.downAfter = d }
}

// SentinelFailoverTimeout bounds the steps of a failover; another of the same primary comes after twice of it at the earliest. Without it
// three seconds.
func SentinelFailoverTimeout(d time.Duration) SentinelOption {
	return func(s *sentinelSettings) { s.failoverTimeout = d }
}

// SentinelWatch is the address under which it watches the primary, and tells it to others: a proxy's. Replicas it finds by what they
// announce: see [RedisAnnounce].
func SentinelWatch(addr string) SentinelOption { return func(s *sentinelSettings) { s.watch = addr } }

// SentinelAnnounce is the address that it tells to other Sentinels as its own: a proxy's.
func SentinelAnnounce(addr string) SentinelOption {
	return func(s *sentinelSettings) { s.announce = addr }
}

// SentinelPassword asks its clients for a password, and other Sentinels, which must have the same.
func SentinelPassword(password string) SentinelOption {
	return func(s *sentinelSettings) { s.password = password }
}

// SentinelTLS lets it speak TLS alone, with a certificate of the primary's authority that has a flaw or none.
func SentinelTLS(flaw Flaw) SentinelOption {
	return func(s *sentinelSettings) { s.tls, s.flaw = true, flaw }
}

// SentinelHurry lets it ask, speak and connect several times as often as it does by itself (SENTINEL DEBUG of Redis 7.0): with a down-after
// of a second a primary has a successor within two, and an old primary that returns is told within two more, instead of eleven.
func SentinelHurry() SentinelOption { return func(s *sentinelSettings) { s.hurry = true } }

// SentinelSet adds a line to its settings, as it is: SentinelSet("sentinel deny-scripts-reconfig yes").
func SentinelSet(line string) SentinelOption {
	return func(s *sentinelSettings) { s.lines = append(s.lines, line) }
}

// StartSentinel starts a Sentinel that watches a primary under a name. Start the replicas before: it asks the primary for them at once, and
// then every ten seconds. It returns when it answers; [Sentinel.Knows] waits until it could do something. How to get into the primary
// it knows from it. The context bounds the start alone; Close ends it.
func StartSentinel(ctx context.Context, name string, primary *Redis, options ...SentinelOption) (*Sentinel, error) {
	s := &Sentinel{name: name, primary: primary, settings: sentinelSettings{
		quorum: 2, downAfter: 1500 * time.Millisecond, failoverTimeout: 3 * time.Second, watch: primary.Addr()}}
	for _, option := range options {
		option(&s.settings)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("starting a Sentinel: %w", err)
	}
	var err error
	if s.path, err = find("redis-server", "redis-server"); err != nil {
		return nil, err
	}
	if s.Server, err = newServer("sentinel"); err != nil {
		return nil, err
	}
	s.Server.kind = s
	if s.settings.tls {
		if s.Certificates, err = newCertificates(s.dir, primary.Certificates.authority, s.settings.flaw); err != nil {
			return nil, errors.Join(fmt.Errorf("preparing a Sentinel: %w", err), s.Close())
		}
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// check finds options that do not go together, or that would make other lines of the settings than they say.
func (s *Sentinel) check() error {
	switch o := s.settings; {
	case s.name == "" || strings.ContainsAny(s.name, " \t\r\n\"'/"):
		return fmt.Errorf("the name %q of a primary: letters, digits and signs without a meaning, please", s.name)
	case (s.primary.Certificates != nil) != o.tls:
		return errors.New("SentinelTLS and RedisTLS go together: a Sentinel speaks TLS with all or with nobody")
	case o.quorum < 1:
		return fmt.Errorf("a quorum of %d: give 1 at least", o.quorum)
	}
	for _, addr := range []string{s.settings.watch, s.settings.announce} {
		if _, _, err := net.SplitHostPort(addr); addr != "" && err != nil {
			return fmt.Errorf("an address of a Sentinel's: write host:port: %w", err)
		}
	}
	return nil
}

func (s *Sentinel) file() string { return filepath.Join(s.dir, "sentinel.conf") }

// configure writes the file that the Sentinel itself goes on writing: a restart leaves it alone.
func (s *Sentinel) configure() error {
	o, port := s.settings, strconv.Itoa(s.port)
	var lines []string
	set := func(words ...string) { lines = append(lines, strings.Join(words, " ")) }
	set("bind 127.0.0.1")
	set("dir", quote(s.dir))
	if c := s.Certificates; c != nil {
		set("port 0")
		set("tls-port", port)
		set("tls-auth-clients no")
		set("tls-replication yes") // so that it speaks TLS with servers, too
		set("tls-cert-file", quote(c.ServerCert))
		set("tls-key-file", quote(c.ServerKey))
		set("tls-ca-cert-file", quote(c.CA))
	} else {
		set("port", port)
	}
	if o.password != "" {
		set("requirepass", quote(o.password))
		set("sentinel sentinel-pass", quote(o.password))
	}
	if host, port, err := net.SplitHostPort(o.announce); err == nil {
		set("sentinel announce-ip", host)
		set("sentinel announce-port", port)
	}
	host, watched, _ := net.SplitHostPort(o.watch) // it was checked
	set("sentinel monitor", s.name, host, watched, strconv.Itoa(o.quorum))
	set("sentinel down-after-milliseconds", s.name, strconv.FormatInt(o.downAfter.Milliseconds(), 10))
	set("sentinel failover-timeout", s.name, strconv.FormatInt(o.failoverTimeout.Milliseconds(), 10))
	set("sentinel parallel-syncs", s.name, "5")
	if s.primary.password != "" {
		set("sentinel auth-pass", s.name, quote(s.primary.password))
	}
	if s.primary.user != "" {
		set("sentinel auth-user", s.name, s.primary.user)
	}
	return os.WriteFile(s.file(), []byte(strings.Join(append(lines, o.lines...), "\n")+"\n"), 0o600)
}

func (s *Sentinel) command() (path string, args, env []string) {
	return s.path, []string{s.file(), "--sentinel"}, nil
}
