// Package remote is a lock server for tests: of drivers, and of programs that use locks over a network, with TTLs. It puts a store
// of one process behind a socket, so that others have it in another process: with processes that die, connections that break,
// answers that get lost or come late, and requests that arrive after nobody wants them any more. It is a correct driver, and small:
// the conformance kit makes broken ones from it by changing one rule.
//
//	go remote.Serve(listener, memlock.NewServer().Connect())    // one process
//	store, err := remote.Dial(ctx, listener.Addr().String())    // the others
//
// It is for tests alone: whoever reaches its port is served, and what is held is forgotten with the server's process. So the package
// does not register itself: a test that wants to open such stores by URL registers [Open].
//
// Queue, order, TTLs, tokens, tombstones and identity are the served store's. Its grants must have leases: nothing else would end
// the holds of a process that died. The rules A1, R2, … are those of package driver.
//
// # The wire
//
// Calls and replies are gob values, one after the other, on one TCP connection per client; a call's id joins it to its replies.
// Many calls share the connection. Neither side ever waits for the other one to read: what is sent is queued, and a peer that
// lets the queue grow too long is cut off.
//
//	acquire, release, renew, guarantees, identity, inspect, list, break   ──▶   answered once
//	cancel (ends an acquire's wait)                                       ──▶   not answered
//	◀──   progress (while an acquire waits), lost (a hold has ended)
//
// # The server
//
//  1. A call is carried out because it was read, not because somebody still waits for its answer: a late request is carried out
//     as any other, and the store's tombstone refuses it if it was undone before.
//  2. The next call of a connection is read when the last acquire has been answered or has begun to wait (Request.Waiting says
//     so). So a cancel, or the end of the connection, always meets an acquire that the store has seen.
//  3. A cancel, and the end of the connection, end the wait of an acquire: its context ends. Nothing is cleaned up.
//
// What the end of a connection leaves of an acquire that it carried:
//
//   - It waited: the attempt is absent. The store keeps its place for its TTL and does not grant meanwhile; asked again, on
//     whatever connection, it goes on from there (A1); released, or not asked again in time, it is gone.
//   - It was granted, and the answer is lost: the attempt holds, as after any lost answer. Asked again it gets the same token;
//     released it is free; otherwise its TTL ends it.
//   - It was refused: nothing.
//
// The same holds when the connection was already dead as the request arrived, because the server cannot know: it reads the
// request first, and the end behind it. Undone before, it is refused; not undone, it waits for nobody, or holds for a TTL (R2).
//
// # The client
//
//  1. A call is sent once. If its connection dies before the answer has come the outcome is unknown, and the caller is told so:
//     the core asks again (A1) or undoes (A3). The next call connects anew.
//  2. When ctx ends the call returns at once (A4), and an answer that comes later is dropped. A waiting acquire is told to the
//     server as a cancel.
//  3. Grant.Asked is the clock just before the acquire went out that was granted. After a wait that moment is long past, and the
//     answer may be old: so a grant whose acquire has waited for more than a tenth of its TTL is asked for again, which renews
//     it, and the new answer counts. If ctx ends before that has come, the outcome is unknown.
//     A Release that comes meanwhile ends it with ErrGone; a confirmation that it has overtaken is undone (R1).
//  4. Only a confirmed renewal is one: an error is passed on as it is, and unknown stays unknown (L3).
//  5. Lost is called for what the server reports. A connection that dies says nothing about holds: reports that it carried are
//     lost, and the next renewal tells.
//
// Errors of package driver keep their types on the wire. The end of a context on the server's side does not: at the client it is
// just an unknown outcome.
package remote
