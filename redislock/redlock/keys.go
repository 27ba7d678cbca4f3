package redlock

import (
	"strings"

	"holdfast.dev/driver"
)

// A keyspace is how names become keys. A lock's key is its name, behind the prefix: that is what the peers have, and why the default prefix is
// empty. What is beside it has names of its own, and a lock whose name begins like them is kept among them:
//
//	orders/42                                    the lock
//	holdfast:redlock:lock:holdfast:redlock:x     the lock holdfast:redlock:x
//	holdfast:redlock:store                       what the clients of the store agree on
//	holdfast:redlock:undone:5d3c…:orders/42      a tombstone, by its attempt and the lock's key
//	holdfast:redlock:waiting:orders/42           who waits for the lock here, by the lock's key
//	holdfast:redlock:inbox:5d3c…                 the channel on which one client is told
type keyspace struct{ prefix string }

const (
	reserved = "holdfast:redlock:"
	lockKind = reserved + "lock:"
)

func (k keyspace) lock(name string) string {
	if strings.HasPrefix(name, reserved) {
		return k.prefix + lockKind + name
	}
	return k.prefix + name
}

// of are the keys that every request names. Those of tombstones and of who waits follow from them: ballot.lua makes them.
func (k keyspace) of(name string) []string { return []string{k.lock(name), k.store()} }

func (k keyspace) store() string              { return k.prefix + reserved + "store" }
func (k keyspace) inbox(client string) string { return k.prefix + reserved + "inbox:" + client }

// patterns match the keys of all locks whose names begin with prefix, and some more.
func (k keyspace) patterns(prefix string) []string {
	plain := globQuoter.Replace(k.prefix+prefix) + "*"
	if strings.HasPrefix(prefix, reserved) {
		return []string{globQuoter.Replace(k.prefix+lockKind+prefix) + "*"}
	}
	if strings.HasPrefix(reserved, prefix) {
		return []string{plain, globQuoter.Replace(k.prefix+lockKind+reserved) + "*"}
	}
	return []string{plain}
}

var globQuoter = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `^`, `\^`)

// name returns the name that a key stands for, and false for a key that is no lock's.
func (k keyspace) name(key string) (string, bool) {
	name, ours := strings.CutPrefix(key, k.prefix)
	if kept, among := strings.CutPrefix(name, lockKind); among {
		name, ours = kept, ours && strings.HasPrefix(kept, reserved)
	} else if strings.HasPrefix(name, reserved) {
		ours = false
	}
	return name, ours && driver.CheckName(name) == nil
}
