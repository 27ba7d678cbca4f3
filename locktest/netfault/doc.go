// Package netfault is a small proxy between a client and a server of this machine, with faults that are real: sockets that stall,
// vanish and reset, answers that arrive long after nobody waits for them.
//
//	proxy, err := netfault.New(serverAddress) // "127.0.0.1:6379", or "unix:/run/server.sock"
//	defer proxy.Close()
//	client := dial(proxy.Addr())
//	proxy.HoldReplies() // from now on the client hears nothing, but the server does what it is asked
//
// # What is between client and server
//
// Each accepted connection is one connection to the target and two streams: [Requests], from client to server, and [Replies],
// back. Without a fault every byte, and every end of a stream, goes on at once.
//
//  1. Order: the bytes of a stream are never reordered, repeated or changed, whatever the faults. The end of a stream (FIN, or
//     RST when the peer reset the connection) stands in line behind its bytes: a request that is held still arrives when it is
//     resumed, though its sender has died meanwhile.
//  2. No gaps: TCP never delivers what follows a lost byte. So a connection that lost something ([Proxy.Blackhole],
//     [Proxy.HalfClose]) never works again: [Proxy.Heal] resets it.
//  3. Scope: a fault applies to every open connection and to every later one, until it is lifted. [Proxy.Cut], [Proxy.Strand] and
//     [Proxy.HalfClose] are moments: they touch the connections that the proxy has accepted.
//  4. Bound: a stream keeps at most [MaxHeld] bytes. When they are used up the proxy stops reading and the sender feels back
//     pressure, as it would from a peer that hangs.
//  5. Verbs may be called from any goroutine, at any time, in any order; none waits for the network. They hold for bytes that
//     arrive after the call; a write that was under way is finished.
//  6. After Close no goroutine and no socket is left.
//
// # Verbs
//
//	HoldRequests, HoldReplies   keep bytes back          lifted by Resume, Heal
//	Blackhole                   throw bytes away         lifted by Heal, which resets who lost some
//	Delay                       slow every byte down     lifted by Delay with zeros, Heal
//	ResetAfter                  reset in mid-stream      once; disarmed by Heal
//	HalfClose                   end one direction        for good
//	Cut                         reset everything         new connections work
//	Strand                      reset the clients' side  what they had sent still arrives, at Resume
//	Refuse, Accept              turn new ones away       lifted by Accept, Heal
//	Retarget                    another server           for new connections
//
// Recipes:
//
//   - lost answer: HoldReplies, a request, Cut. The server has done it, the client never learns. Resume before the next one.
//   - old answer: HoldReplies, a request, wait for longer than a TTL, Resume.
//   - late request: HoldRequests, a request, [Proxy.AwaitHeld], Strand. The client sees its connection break, connects anew and
//     undoes what it asked for; then Resume brings the request to the server after its undoing.
//   - half-open connection (a peer that is gone, and whose end was never heard of): Blackhole(Replies), HalfClose(Requests).
//   - partition: Blackhole(Both), Refuse. One-way partition: Blackhole(Requests) or Blackhole(Replies).
//
// # What it is not
//
// Connections are made while requests are held or thrown away, too: only bytes and ends are subject to faults. Refuse answers a
// new connection with a reset, because a port that is given up can be taken by somebody else. A Unix socket knows no reset: a
// server behind one sees a plain end instead.
package netfault
