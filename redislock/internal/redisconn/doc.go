// Package redisconn is what the Redis drivers share: from a URL to a client, the server's errors made ours, a function library that is
// loaded when it is missing, and one subscription that survives. It knows nothing of locks.
//
// # Connection
//
// [Options] reads the URL, [Dial] connects. A client of a single server, or of a primary that Sentinels know, has one connection for
// requests, which are answered in the order in which they were sent, and one more for its [Inbox]. What waits in the server (WAIT), and all
// that is sent together with it, goes by a third, which is made when it is first needed and then kept: so it holds nothing back, and has no
// order with the rest. Nothing is retried here, nothing is read from replicas, nothing is cached.
//
// rueidis itself does not always return when a context ends: while somebody else connects, in a handshake, or when very many requests
// are unanswered. A client from Dial does; one that a program brought along does when it is passed through [Adopt].
//
//   - connecting: every connection that breaks is counted. A request that finds a number that it has not yet seen working asks for one
//     PING, shared by all who wait, and gives up when its own context ends. One that failed is not tried again for 50 ms, however many
//     wait. No request is sent for a context that has ended meanwhile.
//   - alone: see alone.go. As long as requests come one at a time each is read by its caller, so that the end of an idle connection is
//     noticed by the next request only, which then has no answer.
//   - crowded: when more requests are unanswered than a connection has room for, further ones wait on a goroutine of their own.
//   - race "broke just now": the connection breaks between the look at the number and the request. That request then connects by
//     itself, bounded by timeout= and not by its context. It is the only one that can: the others see the new number.
//   - overtaken: what was sent together with WAIT arrives after something that was sent later, on the other connection. Whoever sends it
//     must be able to stand that.
//   - unanswered: a connection on which nothing was answered for timeout= is given up, with everything that is under way on it: unknown.
//
// # Primaries that move
//
// Each connection looks for the primary anew when it is made; between connections nothing is kept, nothing is subscribed to and nobody is
// asked, so that a client at rest costs nothing.
//
//	connect ──▶ all Sentinels at once: who is the primary, since which epoch? ── a majority has said, or time is up ──▶ highest epoch
//	        ──▶ nat= ──▶ dial ──▶ HELLO: "role" is master ──┬── yes ──▶ settle: connections that lead elsewhere are cut
//	                                                        └── no ───▶ temporary: asked again by the core
//
// Without Sentinels the dial is by name, and the same rules hold for the address that the name had. Which server a connection leads to is
// told by its other end, not by a name: servers have several. [Demoted] and [Doubt] are for a caller who knows more; [Nodes] finds every
// node of the deployment.
//
// Races, by name:
//
//   - stale Sentinel: one that is isolated names the old primary. With a majority of answers one of them knows better, and has the higher
//     epoch. A minority alone is believed, for want of better, but never takes the client back to an epoch before the one it knows.
//   - failover half done: for some time the Sentinel that leads it has the new epoch beside the old address in SENTINEL MASTER. So the
//     address is taken from SENTINEL GET-MASTER-ADDR-BY-NAME, asked after the epoch: it can be too new for it, never too old.
//   - not promoted yet: the Sentinels name a server that is still, or again, a replica. It is never used: its HELLO says so.
//   - two homes: two connections are made while the primary moves, and find different ones. What was begun later knows better; the other
//     is cut, or not used. So requests and inbox never sit on different servers for longer than that.
//   - two addresses: a name has two addresses of one server. A further connection goes where the others are, if the name still has it.
//   - demoted: the server answers READONLY. All connections are cut, the inbox's too, but only those of the era in which the request was
//     sent, and every 100 ms at most: an old answer does not cut a new connection, and a replica that is named by mistake is not
//     connected to in a loop.
//   - isolated: the primary was replaced, and cannot know. Its clients notice that requests are not answered, or refused for want of
//     replicas: the Sentinels are then asked in the background, and the connections cut if the primary is elsewhere.
//   - cut by us: rueidis does not see the end of a connection that nobody reads. So it is counted at once, and the PING that goes down with
//     it is sent again.
//
// # Errors
//
// [Error] makes the server's replies *driver.Refused around a *[ServerError] where the server certainly declined, so that the core
// reports them at once; everything else stays unknown and is asked again. Replies can echo arguments: no message contains more of one
// than its code and a text from which everything that could be a secret was taken out.
//
// # Library
//
//	Call ── the function is there ──▶ its answer
//	  └── "Function not found" ──▶ FUNCTION LOAD ──┬── loaded, or somebody else just did ──▶ Call, again ──▶ its answer, or ErrReplaced
//	                                               └── forbidden ──▶ ErrPermission, with what an administrator has to do
//
// An unknown function has done nothing, so that the repetition is safe whatever it does.
//
// # Inbox
//
//	down ── SSUBSCRIBE confirmed ──▶ up ──┬── connection broke, sunsubscribe, or silent though written to ──▶ down
//	 └── pause, 10 ms to 1 s, connect ──┘ └── Close ──▶ closed, from whichever state
//
// Races, by name:
//
//   - lost message: what is sent while the inbox is down reaches nobody. So Up is the moment at which its owner must look for itself.
//   - up before message: Up is called by the reader of the connection, in line with the messages: never after a message of its session.
//   - old session: a connection that was given up can still deliver. Its messages are dropped: they would mix with those of the next.
//   - half open: the peer is gone and nobody said so. After 1.5 s without a message the connection is asked (PING); if that is not
//     answered within 1.5 s it is given up. On a client that a program brought along, which may speak RESP2, the inbox sends a message
//     to itself instead, through the client, and must hear it; where the server forbids that, rueidis's own PINGs must notice.
//   - closing: no callback runs after Close has returned, nor does one begin; a callback that is running is waited for.
package redisconn
