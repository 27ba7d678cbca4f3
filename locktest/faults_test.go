package locktest_test

// The packages whose conformance tests are run.
const (
	inMemory  = "holdfast.dev/memlock"
	overWires = "holdfast.dev/locktest"
	inFiles   = "holdfast.dev/filelock"
)

// faults are what drivers have got wrong, or could.
var faults = []fault{
	{
		name: "token resets", what: "a lock that nobody uses is forgotten, and the tokens with it",
		in: inMemory, test: "TestConformance", file: "memlock/lock.go",
		line:  "delete(s.locks, l.key)",
		wrong: "delete(s.locks, l.key); s.token = 0",
		fails: "fencing/release", rule: "G: a token is greater",
	},
	{
		name: "release ignores the owner", what: "Release of an attempt that the store does not know frees whoever holds",
		in: inMemory, test: "TestConformance", file: "memlock/release.go",
		line:  "c := s.claims[idOf(r)] // nobody else's: R3",
		wrong: "c := s.claims[idOf(r)]; if l := s.locks[keyOf(r.Name, r.Mode)]; c == nil && l != nil { c = l.holders.front }",
		fails: "exclusion/owner", rule: "R3",
	},
	{
		name: "never expires", what: "a hold that nobody renews is kept for a day, whatever its TTL",
		in: inMemory, test: "TestConformance", file: "memlock/lock.go",
		line:  "c.expires = now.Add(c.ttl)",
		wrong: "c.expires = now.Add(MaxTTL)",
		fails: "expiry/takeover", rule: "G: a hold that nobody renews runs out",
	},
	{
		name: "loses queue order", what: "who comes last is served first",
		in: inMemory, test: "TestConformance", file: "memlock/queue.go",
		line:  "after := q.back\n",
		wrong: "var after *claim\n",
		fails: "order/fifo", rule: "A: waiters are served first come first served",
	},
	{
		name: "wakes the wrong waiter", what: "the lock is given to the first in the queue, but the last is woken",
		in: inMemory, test: "TestConformance", file: "memlock/lock.go",
		line:  "close(c.decided) // last: whoever wakes finds everything written",
		wrong: "if w := l.queue.back; w != nil { c.decided, w.decided = w.decided, c.decided }; close(c.decided)",
		fails: "waking/own", rule: "A: each waiter returns with its own grant",
	},
	{
		name: "leaves a queue entry behind", what: "a waiter that gave up and was released still gets its turn",
		in: inMemory, test: "TestConformance", file: "memlock/release.go",
		line:  "l.absent.remove(c)",
		wrong: "l.absent.remove(c); defer func() { c.decided = nil; l.queue.enqueue(c) }()",
		fails: "cancelling/released", rule: "R: a waiter that is released leaves no queue entry behind",
	},
	{
		name: "readers overtake a waiting writer", what: "a reader goes to the front of the queue",
		in: inMemory, test: "TestConformance", file: "memlock/acquire.go",
		line:  "l.queue.enqueue(c)",
		wrong: "if c.mode == driver.Shared { l.queue.insert(c, nil) } else { l.queue.enqueue(c) }",
		fails: "readers/fairness", rule: "A: readers do not overtake",
	},
	{
		name: "a second grant to a repeated attempt", what: "an attempt that holds, asked for again, is granted anew",
		in: inMemory, test: "TestConformance", file: "memlock/acquire.go",
		line:  "c.extend(r.TTL, now)",
		wrong: "c.token, c.spare = s.nextToken(c); c.extend(r.TTL, now)",
		fails: "idempotence/holding", rule: "A1",
	},
	{
		name: "an undone acquire that holds after all", what: "an Acquire that arrives after its Release is granted, for longer than its TTL",
		in: inMemory, test: "TestConformance", file: "memlock/acquire.go",
		line:  "if s.tombs[idOf(r)] != nil {",
		wrong: "if s.tombs[idOf(r)] != nil { late := *r; late.TTL = MaxTTL; r = &late }; if false {",
		fails: "undo/late", rule: "R2",
	},
	{
		name: "one TTL for all readers", what: "a reader's grant moves the end of all who read already",
		in: inMemory, test: "TestConformance", file: "memlock/lock.go",
		line:  "c.expires = now.Add(c.ttl)",
		wrong: "c.expires = now.Add(c.ttl); for r := l.holders.front; r != nil && c.mode == driver.Shared; r = r.next { r.expires = c.expires }",
		fails: "readers/ownttl", rule: "G: each reader has a TTL of its own",
	},
	{
		name: "reports loss late", what: "a renewal of a hold that is gone is answered by a passing error",
		in: inMemory, test: "TestConformance", file: "memlock/lease.go",
		line:  "return 0, c.gone() // L2",
		wrong: `return 0, errors.New("try again")`,
		fails: "loss/gone", rule: "T3, T4: a hold that the store no longer has",
	},
	{
		name: "keeps trusting after an unknown renewal", what: "a renewal without an answer is taken for a confirmed one",
		in: overWires, test: "TestRemote", file: "locktest/remote/store.go",
		line:  "answer, err := l.s.client.do(ctx, &call{Op: opRenew, Request: what}, nil)",
		wrong: "answer, err := l.s.client.do(ctx, &call{Op: opRenew, Request: what}, nil); if err != nil && !driver.Answered(err) { return ttl, nil }",
		fails: "unknown/renewal", rule: "T3, L3",
	},
	{
		name: "grants what it denies", what: "a mode that Guarantees denies is granted all the same, as though it were another",
		in: overWires, test: "TestBare", file: "locktest/poll_test.go",
		line:  "if r.Mode != driver.Exclusive || r.Keep > 0 || r.Reserve > 0 {",
		wrong: "if r.Keep > 0 || r.Reserve > 0 {",
		fails: "denied/shared", rule: "A7: a mode that Guarantees denies",
	},
	{
		name: "believes an old message", what: "a grant counts from the moment at which its message arrives",
		in: overWires, test: "TestRemote", file: "locktest/remote/store.go",
		line:  "old := g.Waited && s.clock.Now().Sub(asked) > g.TTL/10",
		wrong: "old := false\n\t\tasked = s.clock.Now()",
		fails: "waking/old", rule: "T6",
	},
	{
		name: "promises too much after a wait", what: "a grant after a wait says that the hold lasts for two TTLs",
		in: inMemory, test: "TestConformance", file: "memlock/wait.go",
		line:  "c.grant(c.granted, c.ttl)",
		wrong: "c.grant(c.granted, 2*c.ttl)",
		fails: "validity/waited", rule: "G, T6",
	},
	{
		name: "a renewal that promises too much", what: "Renew reports a little more than what the store keeps",
		in: inMemory, test: "TestConformance", file: "memlock/lease.go",
		line:  "return c.expires.Sub(now), nil",
		wrong: "return c.expires.Sub(now) + 40*time.Millisecond, nil",
		fails: "validity/renewed", rule: "L3",
	},
	{
		name: "counts from the answer", what: "Asked is read when the answer has come",
		in: overWires, test: "TestRemote", file: "locktest/remote/store.go",
		line:  "Asked: asked, TTL: g.TTL",
		wrong: "Asked: s.clock.Now(), TTL: g.TTL",
		fails: "validity/late", rule: "G, T1",
	},
	{
		name: "a broken generation grows", what: "a reader that comes after a Break joins those who were broken",
		in: inMemory, test: "TestConformance", file: "memlock/lock.go",
		line:  "r.state == holding && r.broken == nil",
		wrong: "r.state == holding",
		fails: "breaking/generation", rule: "G: a generation that was broken",
	},
	{
		name: "a break skips the minimum hold", what: "a hold that was broken gently is not kept after its release",
		in: inMemory, test: "TestConformance", file: "memlock/release.go",
		line:  "s.end(c, r.Keep > 0, now)",
		wrong: "s.end(c, r.Keep > 0 && c.broken == nil, now)",
		fails: "breaking/kept", rule: "B2",
	},
	{
		name: "tells who has left", what: "news for a waiter are passed on although its Acquire has returned",
		in: overWires, test: "TestRemote", file: "locktest/remote/client.go",
		line:  "defer conn.pending.Delete(what.ID)",
		wrong: "defer func() { go func() { progress(<-wait.progress) }() }()",
		fails: "cancelling/silence", rule: "G: Request.Waiting",
	},
	{
		name: "copies that keep nothing", what: "Files returns a copy of a file that says nothing about the client's life",
		in: inFiles, test: "TestConformance", file: "filelock/files.go",
		line:  "duplicate(st.presence.alive)",
		wrong: "duplicate(st.presence.claims.file)",
		fails: "files/kill", rule: "K1, K2",
	},
	{
		name: "copies that outlive Close", what: "a closed client still hands out its files",
		in: inFiles, test: "TestConformance", file: "filelock/files.go",
		line:  "return nil, errClosed",
		wrong: "return nil, nil",
		fails: "files/close", rule: "K3",
	},
}
