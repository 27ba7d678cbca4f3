package servers_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
)

func TestRedisServes(t *testing.T) {
	r := start(t)
	answers(t, r, "OK", "SET", "key", "value\r\nof two lines")
	answers(t, r, "value\r\nof two lines", "GET", "key")
	answers(t, r, nil, "GET", "nothing")
	answers(t, r, int64(1), "DEL", "key")
	answers(t, r, "OK", "DEBUG", "SLEEP", "0")
	if host, port, err := net.SplitHostPort(r.Addr()); host != "127.0.0.1" || port != strconv.Itoa(r.Port()) || err != nil {
		t.Errorf("its address is %s, and its port %d", r.Addr(), r.Port())
	}
	info, err := r.Info(patience(t), "server", "persistence")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"process_id": strconv.Itoa(r.Pid()), "tcp_port": strconv.Itoa(r.Port()), "aof_enabled": "0"} {
		if info[name] != want {
			t.Errorf("%s is %q, want %q", name, info[name], want)
		}
	}
	for name, want := range map[string]string{"save": "", "appendonly": "no", "repl-diskless-sync-delay": "0", "bind": "127.0.0.1"} {
		if got := do(t, r, "CONFIG", "GET", name).([]any)[1]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	var refused servers.RedisError
	if _, err := r.Do(patience(t), "NONSENSE"); !errors.As(err, &refused) || !strings.HasPrefix(string(refused), "ERR unknown command") {
		t.Errorf("a command that does not exist: %v", err)
	}
}

func TestRedisConnection(t *testing.T) {
	r := start(t)
	conn, err := r.Dial(patience(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, step := range []struct {
		want any
		args []string
	}{
		{"OK", []string{"MULTI"}},
		{"QUEUED", []string{"INCR", "n"}},
		{"QUEUED", []string{"LPUSH", "n", "x"}},
	} {
		if got, err := conn.Do(patience(t), step.args...); got != step.want || err != nil {
			t.Fatalf("%q answers %v, %v", step.args, got, err)
		}
	}
	answer, err := conn.Do(patience(t), "EXEC")
	list, _ := answer.([]any)
	if err != nil || len(list) != 2 || list[0] != int64(1) {
		t.Fatalf("EXEC answers %v, %v", answer, err)
	}
	if refused, ok := list[1].(servers.RedisError); !ok || !strings.HasPrefix(string(refused), "WRONGTYPE") {
		t.Errorf("a push to a number inside of it answers %#v", list[1])
	}
	if _, err := conn.Do(patience(t), "SUBSCRIBE", "channel"); err != nil {
		t.Fatal(err)
	}
	answers(t, r, int64(1), "PUBLISH", "channel", "hello")
	message, err := conn.Receive(patience(t))
	if list, _ := message.([]any); err != nil || len(list) != 3 || list[2] != "hello" {
		t.Errorf("received %v, %v", message, err)
	}
}

func TestRedisPassword(t *testing.T) {
	const password = `a "b\c' d` + "\n" + `é#{}`
	r := start(t, servers.RedisPassword(password))
	answers(t, r, "PONG", "PING")
	conn := stranger(t, r)
	if got := conn.ask("PING"); !strings.HasPrefix(got, "-NOAUTH") {
		t.Errorf("without the password: %q", got)
	}
	if got := conn.ask("AUTH default " + strconv.Quote("other")); !strings.HasPrefix(got, "-WRONGPASS") {
		t.Errorf("with another: %q", got)
	}
	replica := start(t, servers.RedisReplicaOf(r))
	answers(t, replica, "PONG", "PING")
}

func TestRedisUsers(t *testing.T) {
	r := start(t, servers.RedisUsers("default off", "app on >secret ~app:* &* +@all -flushall"))
	answers(t, r, "OK", "SET", "anything", "x") // as a user who may do all
	conn := stranger(t, r)
	for _, step := range []struct{ say, want string }{
		{"GET x", "-NOAUTH"},
		{"AUTH app secret", "+OK"},
		{"SET app:x 1", "+OK"},
		{"SET x 1", "-NOPERM"},
		{"FLUSHALL", "-NOPERM"},
	} {
		if got := conn.ask(step.say); !strings.HasPrefix(got, step.want) {
			t.Errorf("%s: %q, want %s…", step.say, got, step.want)
		}
	}
	start(t, servers.RedisReplicaOf(r))
	if _, err := servers.StartRedis(patience(t), servers.RedisUsers("default off"), servers.RedisPassword("x")); err == nil {
		t.Error("users and a password together are accepted")
	}
}

func TestRedisRename(t *testing.T) {
	r := start(t, servers.RedisRename("FCALL", ""), servers.RedisRename("FLUSHALL", "WIPE"))
	for _, command := range []string{"FCALL", "FLUSHALL"} {
		if _, err := r.Do(patience(t), command, "f", "0"); err == nil || !strings.Contains(err.Error(), "unknown command") {
			t.Errorf("%s: %v", command, err)
		}
	}
	answers(t, r, "OK", "WIPE")
}

func TestRedisTLS(t *testing.T) {
	for _, c := range []struct {
		name string
		flaw servers.Flaw
		ok   func(error) bool
	}{
		{"flawless", servers.Flawless, func(err error) bool { return err == nil }},
		{"expired", servers.Expired, func(err error) bool {
			var invalid x509.CertificateInvalidError
			return errors.As(err, &invalid) && invalid.Reason == x509.Expired
		}},
		{"wrong name", servers.WrongName, func(err error) bool {
			var name x509.HostnameError
			return errors.As(err, &name)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, servers.RedisTLS(c.flaw))
			answers(t, r, "PONG", "PING") // we reach it in any case
			config, err := r.Certificates.Config()
			if err != nil {
				t.Fatal(err)
			}
			conn, err := (&tls.Dialer{Config: config}).DialContext(patience(t), "tcp", r.Addr())
			if !c.ok(err) {
				t.Errorf("with its authority: %v", err)
			}
			if err == nil {
				conn.Close()
			}
			var unknown x509.UnknownAuthorityError
			conn, err = (&tls.Dialer{Config: &tls.Config{RootCAs: x509.NewCertPool()}}).DialContext(patience(t), "tcp", r.Addr())
			if err == nil {
				conn.Close()
			}
			if c.flaw == servers.Flawless && !errors.As(err, &unknown) {
				t.Errorf("without its authority: %v", err)
			}
		})
	}
}

func TestRedisTLSClients(t *testing.T) {
	r := start(t, servers.RedisTLS(servers.Flawless), servers.RedisSet("tls-auth-clients", "yes"))
	answers(t, r, "PONG", "PING")
	config, err := r.Certificates.Config()
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = nil
	conn, err := (&tls.Dialer{Config: config}).DialContext(patience(t), "tcp", r.Addr())
	if err == nil { // with TLS 1.3 the refusal comes with the first answer
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Minute))
		conn.Write([]byte("PING\r\n"))
		_, err = conn.Read(make([]byte, 1))
	}
	if err == nil {
		t.Error("a client without a certificate is served")
	}
}

func TestRedisReplica(t *testing.T) {
	t.Run("plain", func(t *testing.T) { replicates(t, start(t)) })
	t.Run("tls", func(t *testing.T) {
		primary := start(t, servers.RedisTLS(servers.Flawless), servers.RedisSet("tls-auth-clients", "yes"))
		replicates(t, primary, servers.RedisTLS(servers.Flawless))
		if _, err := servers.StartRedis(patience(t), servers.RedisReplicaOf(primary)); err == nil {
			t.Error("a replica without TLS of a primary with TLS is accepted")
		}
	})
}

func replicates(t *testing.T, primary *servers.Redis, options ...servers.RedisOption) {
	t.Helper()
	do(t, primary, "SET", "before", "1")
	replica := start(t, append(options, servers.RedisReplicaOf(primary))...)
	answers(t, replica, "1", "GET", "before")
	do(t, primary, "SET", "after", "2")
	if err := replica.Sync(patience(t)); err != nil {
		t.Fatal(err)
	}
	answers(t, replica, "2", "GET", "after")
	if _, err := replica.Do(patience(t), "SET", "x", "1"); err == nil || !strings.HasPrefix(err.Error(), "READONLY") {
		t.Errorf("a write to the replica: %v", err)
	}
	primary.Kill()
	if err := replica.Restart(patience(t)); err != nil {
		t.Errorf("a replica is restarted while its primary is down: %v", err)
	}
}

func TestRedisClock(t *testing.T) {
	r := start(t, servers.RedisClock())
	off := func() time.Duration {
		t.Helper()
		before := time.Now()
		answer := do(t, r, "TIME").([]any)
		seconds, _ := strconv.ParseInt(answer[0].(string), 10, 64)
		micros, _ := strconv.ParseInt(answer[1].(string), 10, 64)
		return time.Unix(seconds, micros*1000).Sub(before)
	}
	// What an answer takes is in it, so much above is allowed; below, what is lost in microseconds and doubles.
	near := func(want time.Duration) {
		t.Helper()
		if got := off(); got < want-time.Millisecond || got > want+30*time.Second {
			t.Errorf("its clock is %v ahead of ours, want %v", got, want)
		}
	}
	step := func(d time.Duration) {
		t.Helper()
		if err := r.StepClock(d); err != nil {
			t.Fatal(err)
		}
	}
	near(0)
	step(time.Hour)
	near(time.Hour)
	step(-3 * time.Hour)
	near(-2 * time.Hour)
	if err := r.Restart(patience(t)); err != nil {
		t.Fatal(err)
	}
	near(-2 * time.Hour)
	step(2 * time.Hour)
	near(0)
	if err := start(t).StepClock(time.Hour); err == nil {
		t.Error("the system's clock can be stepped")
	}
}
