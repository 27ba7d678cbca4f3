// Package control has the negative controls: small locks that are broken on purpose, each in one known way, and for each a twin that
// is right. A torture run that lets a broken one pass proves nothing, and so does one that accuses a twin.
//
// # What differs
//
// All are one plain lock on one Redis server (base.go), or on several of which a majority decides (majority.go), whose steps (take, free,
// renew, and how it waits) can be replaced. A control is a file that replaces one of them, in one of the two. Nothing else differs
// between the broken lock and its twin: not the work, not the faults, not their times. The controls of the fence (N9, N10) have the right
// lock in both, and a wrong gate before the register.
//
// N5 and N6 are another matter: their locks are Holdfast's own, redislock on a primary with replicas and redlock on three nodes, once without
// the guard and once with it.
//
// The core stands above them as above any driver. It saves a bad driver from some of its mistakes: it counts what a grant is worth from
// before it was asked for, and never believes longer. So a control shows its mistake where the core cannot help, and says where.
//
// # The right lock
//
// Four kinds of keys and a channel. Names stand at the end of a key, behind parts of fixed length: different names are different keys.
//
//	control:lock:NAME           the attempt that holds it; lives for a TTL
//	control:token:NAME          the last token; stays. It is also the token of whoever holds now
//	control:gone:ATTEMPT:NAME   the attempt was released: a request of it that comes later is too late; lives for a TTL, 1 s at most
//	control:store               who this store is; stays
//	control:free                a message on it: the lock of that name was released
//
// Each step is one script, so that it happens as a whole. A waiter asks again when it hears of a release, and without having heard of one
// after some milliseconds, each time longer, up to 40: a message can get lost, and an expiry sends none.
//
// Races, by name:
//
//   - lost answer: the repeated request finds its own attempt in the lock, and gets the same token.
//   - late request: it finds the mark that its release has left. The mark goes after a while; a request that is later still holds
//     for one TTL at most, because nobody renews it.
//   - crossing: a Release while Acquire of the same attempt waits ends that wait here, and its requests on the way by the mark.
//   - expiry in flight: a renewal of what has run out finds the lock free, or somebody else in it, and changes nothing.
package control
