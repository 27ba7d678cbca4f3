package redislock

import (
	"strings"

	"holdfast.dev/driver"
)

// A keyspace is how names become keys: prefix, kind, and the name in braces, which make it the hash tag of a Redis Cluster.
//
//	holdfast:lock:{orders/42}      the lock
//	holdfast:permits:{orders/42}   the semaphore of the same name, a stranger
//	holdfast:store                 what the clients of the store agree on
//	holdfast:inbox:5d3c…           the channel on which one client is told
type keyspace struct{ prefix string }

const (
	lockKind    = "lock:{"
	permitsKind = "permits:{"
)

// names leaves everything readable but what would end a hash tag too early.
var names = driver.Encoding{Safe: func(c byte) bool { return c != '{' && c != '}' }, Escape: '%'}

func kindOf(mode driver.Mode) string {
	if mode == driver.Permits {
		return permitsKind
	}
	return lockKind
}

func (k keyspace) lock(name string, mode driver.Mode) string {
	return k.prefix + kindOf(mode) + names.Encode(name) + "}"
}

func (k keyspace) store() string              { return k.prefix + "store" }
func (k keyspace) inbox(client string) string { return k.prefix + "inbox:" + client }

// pattern matches the keys of everything of that mode whose name begins with prefix.
func (k keyspace) pattern(prefix string, mode driver.Mode) string {
	return globQuoter.Replace(k.prefix+kindOf(mode)+names.Encode(prefix)) + "*}"
}

var globQuoter = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `^`, `\^`)

// name returns the name that a key stands for, and false for a key that is not one of ours.
func (k keyspace) name(key string, mode driver.Mode) (string, bool) {
	rest, ours := strings.CutPrefix(key, k.prefix+kindOf(mode))
	encoded, closed := strings.CutSuffix(rest, "}")
	if !ours || !closed {
		return "", false
	}
	name, ok := names.Decode(encoded)
	return name, ok && driver.CheckName(name) == nil
}
