package servers

import "slices"

// A RedisOption says how a Redis is to be started.
type RedisOption func(*redisSettings)

// redisSettings is what the options ask for.
type redisSettings struct {
	program  string
	lines    [][]string // of the file redis.conf, after our own
	password string
	users    []string
	primary  *Redis
	follows  string // an address: the primary's, if not its own
	announce string // the address that it tells
	clock    bool
	tls      bool
	flaw     Flaw
}

// RedisSet adds a line to redis.conf: RedisSet("appendonly", "yes"), RedisSet("client-output-buffer-limit", "pubsub", "1mb", "1mb", "1").
// Values are quoted as needed. Of a setting that has one value the last counts, ours included; leave port, tls-port, bind and dir alone.
func RedisSet(name string, values ...string) RedisOption {
	line := append([]string{name}, values...)
	return func(s *redisSettings) { s.lines = append(s.lines, line) }
}

// RedisRename renames a command; to "" forbids it. Not PING and INFO: the start asks by them who answers.
func RedisRename(command, to string) RedisOption { return RedisSet("rename-command", command, to) }

// RedisPassword asks for a password from the default user.
func RedisPassword(password string) RedisOption {
	return func(s *redisSettings) { s.password = password }
}

// RedisUsers gives the server an ACL file with these users: RedisUsers("app on >secret ~app:* &* +@all -@dangerous", "default off"). It
// adds one more, who may do everything and whom [Redis.Do] and replicas use. It does not go together with RedisPassword: write
// "default on >password ~* &* +@all".
func RedisUsers(rules ...string) RedisOption {
	return func(s *redisSettings) { s.users = append(slices.Clip(s.users), rules...) }
}

// RedisTLS lets the server speak TLS alone, with a certificate that has a flaw or none: see [Redis.Certificates]. Clients need no
// certificate; with RedisSet("tls-auth-clients", "yes") they do.
func RedisTLS(flaw Flaw) RedisOption {
	return func(s *redisSettings) { s.tls, s.flaw = true, flaw }
}

// RedisReplicaOf makes it a replica. The start returns when it has the primary's data; a restart, which may find the primary gone, does
// not wait for that. If the primary speaks TLS its replica must.
func RedisReplicaOf(primary *Redis) RedisOption {
	return func(s *redisSettings) { s.primary = primary }
}

// RedisFollows makes it a replica of whoever is at an address: of a proxy, for instance. With RedisReplicaOf too it is that primary, its
// password and its authority, and only the way to it is another. Alone it knows no password, and the start waits for nothing.
func RedisFollows(addr string) RedisOption { return func(s *redisSettings) { s.follows = addr } }

// RedisAnnounce is the address that it tells as its own when it is a replica: to its primary, and so to Sentinels and to whoever asks
// the primary for its replicas. It is for a server behind a proxy; [Redis.Addr] stays where it listens.
func RedisAnnounce(addr string) RedisOption { return func(s *redisSettings) { s.announce = addr } }

// RedisClock gives the server a wall clock of its own for StepClock (Linux, with libfaketime). It makes every look at the time slower:
// leave it out where speed is measured.
func RedisClock() RedisOption { return func(s *redisSettings) { s.clock = true } }

// RedisProgram runs another program than redis-server: a path, or a name in PATH, such as valkey-server.
func RedisProgram(program string) RedisOption { return func(s *redisSettings) { s.program = program } }
