package filelock

import "holdfast.dev/driver"

// A tombKey names an attempt that was released.
type tombKey struct{ key, hash string }

// maxTombs bounds the memory of attempts that were released.
const maxTombs = 1 << 15

// entomb remembers for r.TTL that r's attempt was released: an Acquire of it that comes late must not hold for ever (R2). The
// mutex is held.
func (st *Store) entomb(key, hash string, r *driver.Request) {
	now := st.Clock().Now()
	for len(st.graves) > 0 && (len(st.graves) >= maxTombs || st.tombs[st.graves[0]].Before(now)) {
		delete(st.tombs, st.graves[0])
		st.graves = st.graves[1:]
	}
	k := tombKey{key, hash}
	if _, there := st.tombs[k]; !there {
		st.graves = append(st.graves, k)
	}
	st.tombs[k] = max(st.tombs[k], now.Add(r.TTL))
}

// buried reports whether an attempt was released lately. The mutex is held.
func (st *Store) buried(key, hash string) bool {
	until, there := st.tombs[tombKey{key, hash}]
	return there && st.Clock().Now().Before(until)
}
