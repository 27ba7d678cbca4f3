// Package guard is what the Redis drivers with a function library share: a server that may have forgotten a hold, or that may not be the
// primary any more, grants nothing that could be somebody's. It knows what a store is, and nothing of locks: what is granted, and to whom, is
// in the code that a package puts behind guard.lua ([NewLibrary]).
//
// A [Store] is one client's view of one server, or of a primary with its replicas. It is opened by the first who asks ([Store.Opened]): the
// library is loaded, the clients agree on what the store is, and the package around it gets ready. [Store.Call] runs a function; what
// concerns the guard, it deals with itself.
//
//	find      reads what all clients of the store agree on
//	open      writes it, for the first, and what must be proved of replicas when that has changed
//	note      keeps what a client has found of the nodes (recall.go)
//	prove     writes something for replicas to acknowledge: see Replicas
//
// # The guard
//
// A restart can forget holds that their holders believe in; so can a failover, because replicas hear of what is written later than the
// client does. So a server that may have forgotten something grants nothing until every hold from before has run out. docs/safety.md
// says why each rule is there; internal/guardmodel has them as a program that looks for a way round, and finds one if a rule is left out.
//
//  1. Bound. The guard is the store's: the first client writes it into the store's key, and one that asks for another is refused. No TTL
//     is longer than the guard less the fence (0 without replicas). guard=0 turns all of this off: then nothing is promised about
//     restarts and failovers, and tokens are volatile.
//  2. Reign. A reign is a replication id (master_replid): a process that starts has a new one, and a replica that is promoted. A new id,
//     or a library without memory, begins a new reign, unless the store's key trusts exactly this id; or the server never replicated
//     (a primary without replicas, no second id, offset 0) and has been up for longer than the guard.
//  3. Phases. Muted, for the fence: nothing is granted and nothing renewed. Guarded, until the guard has passed: what is known can be
//     renewed, by who believes in it, and released; nothing is granted, handed over or claimed, not even what an attempt was granted before
//     and asks for again, because it does not believe in it. Then open, and the key says so. The code behind guard.lua asks for the phase
//     (is_muted, st.left, is_open), and does what it says.
//  4. Clock. The guard's time begins with the first call that writes, which min-replicas-to-write must have let through, and that has proof
//     of contact: never with a look. One call counts for a second of it at most, so that a clock that is set forward ends no guard. The
//     id is read again every 100 ms at most, and when the clock went back.
//
// # Replicas
//
// A primary that is cut off may have been replaced, and does not know. Two rules of the deployment, and one of ours, keep it from granting
// what the new one grants: min-replicas-to-write is at least half of the nodes, rounded down, on every node, so that of two halves of a
// split one has no primary that may write ([Store.Promise] asks every node, and does not promise failovers otherwise); roles
// move towards the newest primary only, as Sentinels do it, and whoever was made a replica starts again as one; and:
//
//  5. Proof. A node grants and renews only while it is proved that so many replicas have followed it within lag (the lesser of
//     min-replicas-max-lag and 2 s). The proof is an offset: the library notes the time and how much was written (master_repl_offset);
//     a replica that acknowledges more than that has followed after that time. When an acknowledgement was read proves nothing, because it
//     may have waited while the process stood still: what Redis itself calls lag is such a time. Without proof the answer is
//     "unproved"; the client then has something written and waits for it (WAIT), and asks again, in one more round trip
//     (proof.go). Whatever WAIT says, what was carried out behind it counts: only if that is unproved, too, are there too few replicas.
//  6. Fence. lag + 2 s: by then an old primary knows that it is none, so that a hold which the new one renews cannot have ended, and been
//     granted anew, at the old one.
//
// How many replicas, and lag, are in the store's key, from the settings of the primary at each opening, so that every node goes by the same.
// A store has a fence from when its server is first seen with a replica. What makes a copy for itself alone (redis-cli --rdb) is none, nor
// is a second id that came from the server's own file. What only frees needs no proof. A replica is no primary, though it may be set up to be
// written to: it is refused when the store is opened, and by the library in every call.
//
// What every node has answered is noted in the store's key too, for [Store.Promise]: a node that cannot be asked counts as it was
// when it last could be, so that a program can start while one is down, and one that is away is not left out of the count. A node that
// answers and refuses is never taken for what was noted of it.
//
// # The ceiling of tokens
//
// The greatest token that a server process gave is in the library's memory (last). What was given out is below a ceiling in the store's key,
// raised in steps of 5 s: a process that has forgotten begins there. One in a new reign with a fence begins above whichever is more: a fence
// above the ceiling, because an old primary grants no longer than that without its ceiling being heard of; and the clock's time, the guard
// and the lag, because an old one may grant for the lag from now, by a clock that is ahead by less than the guard. Clocks that differ
// by more than the guard are beyond what is promised.
//
// # The list
//
// A store can have a text that all clients must agree on, beside the guard: that of the first who has one is kept, and a client with another
// is refused ([ListError]). The library writes it again when the store's key was lost, as it does with the rest.
//
// # The store's key
//
// It is a hash that stays: id, format, guard, ceiling of tokens, trusted reign, lag and number of replicas, list; nodes, what was last found
// of each; and the last beat, which only replicas read.
//
// # Races, by name
//
//   - two guards: the store was set up anew with another one while a request was on its way. What was measured by the old one is not sent
//     again (Config.Bound), and the package's code refuses a TTL above the guard: its caller opens the store again.
//   - lost store: FLUSHALL took the store's key. The library remembers it and writes it again, unless a new client was faster: then the
//     others are told, and open the store anew.
//   - replaced while asking: the answer "read only", or no answer. Every connection is given up, and the next one leads to the primary of then.
//   - two who prove: one asks the replicas, the others wait for what it finds (proof.go).
//   - closed while opening: Close does not wait for a server, but for who asks it; afterwards nobody gets ready any more.
package guard
