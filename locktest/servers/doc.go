// Package servers starts real servers for tests, torture and benchmarks: private ones, on 127.0.0.1, each with a port and a temporary
// directory of its own. It knows nothing of package testing, so that programs can use it too.
//
//	redis, err := servers.StartRedis(ctx, servers.RedisSet("appendonly", "yes"))
//	servers.Need(t, err) // skips where it is not installed; fails if it must be, or for any other reason
//	defer redis.Close()
//	redis.Kill()                     // as by kill −9
//	err = redis.Restart(ctx)         // the same port, directory and settings
//	_, err = redis.Do(ctx, "FLUSHALL")
//
// A primary, its replicas and their Sentinels:
//
//	replica, err := servers.StartRedis(ctx, servers.RedisReplicaOf(redis))
//	sentinel, err := servers.StartSentinel(ctx, "orders", redis) // and two more
//	err = sentinel.Knows(ctx, 1, 2)                              // one replica, two other Sentinels: now redis.Kill() has a successor
//	err = redis.RestartAs(ctx)                                   // it comes back as it was at first: a primary
//
// To have a proxy between them, make it first: the server announces the proxy's address ([RedisAnnounce]), others follow and watch it
// there ([RedisFollows], [SentinelWatch]), and when it is started the proxy is told where it listens.
//
// # What a Server is
//
//  1. Started means answering, and that it is this very process that answers: whoever else has the port is not taken for it. A server
//     that ends instead is an error with the tail of its log. The context bounds the start alone, and so do 30 seconds.
//  2. Its port is free when it is chosen, and another is tried if somebody was faster. It lies below those that systems give to whoever
//     asks for any: while a server is down no outgoing connection can take its port, not even a client's that keeps trying to reach it
//     (which would then be connected to itself). It is never the usual port of such a server.
//  3. All of its data and settings are in its directory, which lives until Close. Restart changes nothing there: what was on disk is
//     what a restarted server finds. That may be what a Sentinel has written into its settings; [Redis.RestartAs] writes them anew.
//  4. Kill returns when the process is gone, and with it whatever it had forked. Stop returns when every thread stands still: nothing
//     that is sent afterwards is answered before Continue.
//  5. Close may be called at any time, any number of times, also beside all other methods. Afterwards the process and the directory are
//     gone.
//  6. On Linux a server is killed by the kernel when this process ends, however that happens; its directory is then left behind, and
//     so are two small files of libfaketime's in /dev/shm if it had a clock of its own. Elsewhere a program that is killed leaves its
//     servers running.
//
// All methods may be called from many goroutines. Those that signal, start and end a server take effect in some order: a Kill while
// Restart waits for an answer makes that Restart fail.
//
// # Races, and why they are harmless
//
//   - A port is taken between our look and the server's: it says so in its log and ends, and we try another. If a server of the same kind
//     has taken it, that one may answer us first: the answer carries its process id, which is not ours.
//   - Linux kills a child when the *thread* that started it ends, and Go ends threads as it likes. So a goroutine that never leaves its
//     thread starts the server and waits for its end.
//   - A process id is signalled only until that goroutine has seen the end. The system could give the number away in the microseconds
//     between the end and our knowing; it takes all others first.
//
// # Another kind of server
//
// It is a type that embeds *Server and has the three methods of kind: what to write into the directory, how to run the program, how to
// ask whether it serves. See redis.go.
package servers
