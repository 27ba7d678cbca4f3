package redisconn

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// trial is a library with one function for each way to fail.
var trial = &Library{Name: "hf_trial", Code: `#!lua name=hf_trial
redis.register_function('hf_set', function(k, a) return redis.call('SET', k[1], a[1]) end)
redis.register_function('hf_pset', function(k, a) return redis.pcall('SET', k[1], a[1]) end)
redis.register_function('hf_incr', function(k, a) return redis.call('INCR', k[1]) end)
redis.register_function('hf_publish', function(k, a) return redis.call('SPUBLISH', k[1], a[1]) end)
redis.register_function('hf_bug', function(k, a) local x = nil; return x[a[1]] end)
redis.register_function('hf_reply', function(k, a) return redis.error_reply(a[1]) end)
redis.register_function('hf_nothing', function(k, a) return false end)
redis.register_function{function_name='hf_get', callback=function(k, a) return redis.call('GET', k[1]) end, flags={'no-writes'}}
redis.register_function{function_name='hf_oom_set', callback=function(k, a) return redis.call('SET', k[1], a[1]) end, flags={'allow-oom'}}
`}

// attempt is a secret that requests carry: 48 hexadecimal digits.
var attempt = strings.Repeat("0123456789abcdef", 3)

// isRefused checks that err is an answer of that kind, that it says what to do, and that it contains no secret.
func isRefused(t testing.TB, what string, err, kind error) {
	t.Helper()
	var refused *driver.Refused
	var server *ServerError
	if !errors.As(err, &refused) || !errors.As(err, &server) || !errors.Is(err, kind) || !driver.Answered(err) {
		t.Errorf("%s: got %T %v, want a refusal that is %q", what, err, err, kind)
	}
	noSecret(t, what, err)
}

func noSecret(t testing.TB, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
	} else if text := err.Error(); strings.Contains(text, canary) || strings.Contains(text, attempt) {
		t.Errorf("%s: there is a secret in its error", what)
	}
}

// refuse dials where that must fail, and returns the error.
func refuse(t testing.TB, url string) (err error) {
	t.Helper()
	nothingLeft(t, func() {
		var c rueidis.Client
		if c, err = Dial(within(t, patience), options(t, url)); err == nil {
			c.Close()
			t.Error("connected")
		}
	})
	return err
}

func call(t testing.TB, c rueidis.Client, function string) error {
	t.Helper()
	_, err := trial.Call(within(t, patience), c, function, []string{"lock"}, []string{attempt})
	return err
}

func TestPassword(t *testing.T) {
	s := start(t, servers.RedisPassword("right"))
	isRefused(t, "wrong password", refuse(t, "redis://:"+canary+"@"+s.Addr()), ErrAuth)
	isRefused(t, "unknown user", refuse(t, "redis://nobody:"+canary+"@"+s.Addr()), ErrAuth)
	isRefused(t, "no password", refuse(t, "redis://"+s.Addr()), ErrAuth)
	dial(t, "redis://:right@"+s.Addr())
	dial(t, "redis://default:right@"+s.Addr()+"/15")
}

func TestDatabase(t *testing.T) {
	s := start(t)
	isRefused(t, "database 999", refuse(t, "redis://"+s.Addr()+"/999"), ErrDatabase)
}

func TestPermission(t *testing.T) {
	s := start(t, servers.RedisUsers("default off",
		"all on >"+canary+" ~* &* +@all",
		"none on >"+canary+" ~* &* +@connection",
		"inner on >"+canary+" ~* &* +@all -set -spublish",
		"channel on >"+canary+" ~* &own +@all",
		"key on >"+canary+" ~own &* +@all"))
	if err := trial.Load(within(t, patience), dial(t, "redis://all:"+canary+"@"+s.Addr())); err != nil {
		t.Fatal(err)
	}
	for _, try := range []struct{ user, function string }{
		{"none", "hf_set"}, {"inner", "hf_set"}, {"inner", "hf_pset"}, {"inner", "hf_publish"}, {"channel", "hf_publish"}, {"key", "hf_set"},
	} {
		c := dial(t, "redis://"+try.user+":"+canary+"@"+s.Addr())
		isRefused(t, try.user+" calls "+try.function, call(t, c, try.function), ErrPermission)
	}
}

func TestReadOnlyReplica(t *testing.T) {
	s := start(t)
	replica := start(t, servers.RedisReplicaOf(s))
	c := dial(t, "redis://"+replica.Addr())
	isRefused(t, "loading at a replica", trial.Load(within(t, patience), c), ErrReadOnly)
	if err := trial.Load(within(t, patience), dial(t, "redis://"+s.Addr())); err != nil {
		t.Fatal(err)
	}
	if err := replica.Sync(within(t, patience)); err != nil {
		t.Fatal(err)
	}
	isRefused(t, "writing to a replica", call(t, c, "hf_set"), ErrReadOnly)
	isRefused(t, "writing to a replica by pcall", call(t, c, "hf_pset"), ErrReadOnly)
	if err := call(t, c, "hf_get"); err != nil {
		t.Errorf("reading from a replica: %v", err)
	}
}

func TestMemory(t *testing.T) {
	s := start(t)
	c := dial(t, "redis://"+s.Addr())
	do(t, s, "CONFIG", "SET", "maxmemory", "1")
	isRefused(t, "loading", call(t, c, "hf_set"), ErrMemory)
	do(t, s, "CONFIG", "SET", "maxmemory", "0")
	if err := trial.Load(within(t, patience), c); err != nil {
		t.Fatal(err)
	}
	do(t, s, "CONFIG", "SET", "maxmemory", "1")
	isRefused(t, "writing", call(t, c, "hf_set"), ErrMemory)
	isRefused(t, "writing by pcall", call(t, c, "hf_pset"), ErrMemory)
	for _, function := range []string{"hf_get", "hf_oom_set"} {
		if err := call(t, c, function); err != nil && !errors.Is(err, ErrMemory) {
			t.Errorf("%s: %v", function, err)
		}
	}
}

func TestPersistence(t *testing.T) {
	s := start(t, servers.RedisSet("save", "3600 1"))
	c := dial(t, "redis://"+s.Addr())
	if err := trial.Load(within(t, patience), c); err != nil {
		t.Fatal(err)
	}
	// A directory stands where the file would have to be: not even root can save there.
	if err := os.MkdirAll(filepath.Join(s.Dir(), "dump.rdb", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	do(t, s, "BGSAVE")
	eventually(t, "saving has failed", func() bool {
		info, err := s.Info(context.Background(), "persistence")
		return err == nil && info["rdb_last_bgsave_status"] == "err"
	})
	isRefused(t, "writing", call(t, c, "hf_set"), ErrPersistence)
	isRefused(t, "writing by pcall", call(t, c, "hf_pset"), ErrPersistence)
}

func TestReplicasMissing(t *testing.T) {
	s := start(t)
	c := dial(t, "redis://"+s.Addr())
	if err := trial.Load(within(t, patience), c); err != nil {
		t.Fatal(err)
	}
	do(t, s, "CONFIG", "SET", "min-replicas-to-write", "1")
	isRefused(t, "writing", call(t, c, "hf_set"), ErrReplicas)
}

func TestKeyType(t *testing.T) {
	s := start(t)
	c := dial(t, "redis://"+s.Addr())
	do(t, s, "LPUSH", "lock", "x")
	isRefused(t, "another kind, read", call(t, c, "hf_get"), ErrKeyType)
	isRefused(t, "another kind, written", call(t, c, "hf_incr"), ErrKeyType)
}

func TestNoFunctions(t *testing.T) {
	for _, command := range []string{"FCALL", "FUNCTION"} {
		s := start(t, servers.RedisRename(command, ""))
		c := dial(t, "redis://"+s.Addr())
		err := call(t, c, "hf_set")
		isRefused(t, command+" is missing", err, ErrFunctions)
		if err != nil && !strings.Contains(err.Error(), "redlock://") {
			t.Errorf("it does not say what to use instead: %v", err)
		}
		if command == "FUNCTION" {
			isRefused(t, "loading without FUNCTION", trial.Load(within(t, patience), c), ErrFunctions)
		}
	}
}

func TestCluster(t *testing.T) {
	s := start(t, servers.RedisSet("cluster-enabled", "yes"))
	isRefused(t, "a database of a cluster", refuse(t, "redis://"+s.Addr()+"/1"), ErrDatabase)
	c := dial(t, "redis://"+s.Addr())
	if err := trial.Load(within(t, patience), c); err != nil {
		t.Fatal(err)
	}
	isRefused(t, "a cluster that is down", call(t, c, "hf_set"), ErrCluster)
}

func TestErrorsOfFunctions(t *testing.T) {
	s := start(t)
	c := dial(t, "redis://"+s.Addr())
	err := call(t, c, "hf_bug")
	if e := kindOf(err); e == nil || driver.Answered(err) {
		t.Errorf("a bug in a function may have written something, but it is %T %v", err, err)
	}
	noSecret(t, "a bug", err)
	_, err = trial.Call(within(t, patience), c, "hf_reply", nil, []string{"HFSTATE of " + attempt})
	if e := kindOf(err); e == nil || e.Code != "HFSTATE" || !driver.Answered(err) {
		t.Errorf("a reply of a function's own: %T %v", err, err)
	}
	noSecret(t, "a reply of a function's own", err)
	m, err := trial.Call(within(t, patience), c, "hf_nothing", []string{"lock"}, nil)
	if err != nil || !m.IsNil() {
		t.Errorf("nil: %v %v", m, err)
	}
}

func TestTemporary(t *testing.T) {
	s := start(t, servers.RedisSet("busy-reply-threshold", "1"))
	c := dial(t, "redis://"+s.Addr())
	if err := trial.Load(within(t, patience), c); err != nil {
		t.Fatal(err)
	}
	loop := make(chan error, 1)
	go func() {
		_, err := s.Do(context.Background(), "EVAL", "while true do end", "0")
		loop <- err
	}()
	var err error
	eventually(t, "the server is busy", func() bool { err = call(t, c, "hf_set"); return err != nil })
	if driver.Answered(err) || !errors.Is(err, ErrTemporary) || !strings.Contains(err.Error(), "BUSY") {
		t.Errorf("busy: %T %v", err, err)
	}
	do(t, s, "SCRIPT", "KILL")
	<-loop
	if err := call(t, c, "hf_set"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestTLS(t *testing.T) {
	good := start(t, servers.RedisTLS(servers.Flawless))
	plain := start(t)
	trust := "?ca=" + good.Certificates.CA

	dial(t, "rediss://"+good.Addr()+trust)
	dial(t, "rediss://"+good.Addr()+"?insecure=true")
	dial(t, "rediss://"+good.Addr()+trust+"&servername=localhost")

	unknown := func(what string, err, kind error) {
		t.Helper()
		if driver.Answered(err) || kind != nil && !errors.Is(err, kind) {
			t.Errorf("%s: %T %v", what, err, err)
		}
		noSecret(t, what, err)
	}
	unknown("TLS to a plain port", refuse(t, "rediss://:"+canary+"@"+plain.Addr()+trust+"&timeout=200ms"), ErrProtocol)
	unknown("plain to a TLS port", refuse(t, "redis://:"+canary+"@"+good.Addr()), ErrProtocol)

	err := refuse(t, "rediss://:"+canary+"@"+good.Addr())
	unknown("unknown authority", err, nil)
	if e := new(x509.UnknownAuthorityError); !errors.As(err, e) || !strings.Contains(err.Error(), "ca=FILE") {
		t.Errorf("unknown authority: %v", err)
	}
	err = refuse(t, "rediss://:"+canary+"@"+good.Addr()+trust+"&servername=example.org")
	unknown("wrong name asked for", err, nil)
	if e := new(x509.HostnameError); !errors.As(err, e) || !strings.Contains(err.Error(), "servername=") {
		t.Errorf("wrong name asked for: %v", err)
	}
	named := start(t, servers.RedisTLS(servers.WrongName))
	err = refuse(t, "rediss://:"+canary+"@"+named.Addr()+"?ca="+named.Certificates.CA)
	unknown("wrong name", err, nil)
	if e := new(x509.HostnameError); !errors.As(err, e) {
		t.Errorf("wrong name: %v", err)
	}
	expired := start(t, servers.RedisTLS(servers.Expired))
	err = refuse(t, "rediss://:"+canary+"@"+expired.Addr()+"?ca="+expired.Certificates.CA)
	unknown("expired", err, nil)
	if e := new(x509.CertificateInvalidError); !errors.As(err, e) || e.Reason != x509.Expired {
		t.Errorf("expired: %v", err)
	}
}

func TestClientCertificate(t *testing.T) {
	s := start(t, servers.RedisTLS(servers.Flawless), servers.RedisSet("tls-auth-clients", "yes"))
	c := s.Certificates
	url := "rediss://:" + canary + "@" + s.Addr() + "?ca=" + c.CA
	noSecret(t, "no certificate", refuse(t, url))
	dial(t, "rediss://"+s.Addr()+"?ca="+c.CA+"&cert="+c.ClientCert+"&key="+c.ClientKey)
}

// TestStrangers connects to what is no Redis.
func TestStrangers(t *testing.T) {
	for what, says := range map[string]string{
		"web":     "HTTP/1.1 400 Bad Request\r\n\r\n",
		"mail":    "220 example.org ESMTP\r\n",
		"ssh":     "SSH-2.0-OpenSSH_9.2\r\n",
		"nothing": "",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Read(make([]byte, 1000))
				c.Write([]byte(says))
				c.Close()
			}
		}()
		err = refuse(t, "redis://:"+canary+"@"+l.Addr().String())
		if !errors.Is(err, ErrProtocol) || driver.Answered(err) {
			t.Errorf("%s: %T %v", what, err, err)
		}
		noSecret(t, what, err)
		l.Close()
		if err := refuse(t, "redis://:"+canary+"@"+l.Addr().String()); !strings.Contains(err.Error(), "nobody listens") {
			t.Errorf("%s has ended: %v", what, err)
		}
	}
}
