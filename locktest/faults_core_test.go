package locktest_test

// coreFaults are what the core, or a driver below it, could get wrong of RWMutex, Semaphore, Multi and Election.
var coreFaults = []fault{
	{
		name: "a writer nests in a reader", what: "write inside read is granted, beside other readers",
		in: inMemory, test: "TestConformance", file: "reentry.go",
		line:  "if t.mode == Exclusive && outer.Err() == nil {",
		wrong: "if false {",
		fails: "rwmutex/upgrade", rule: "O3: write inside read is ErrUpgrade",
	},
	{
		name: "a reader waits behind the writer that waits for it", what: "read inside read asks the store, as a stranger would",
		in: inMemory, test: "TestConformance", file: "reentry.go",
		line:  "return outer.nest(&t.config, nil), nil",
		wrong: "return nil, nil",
		fails: "rwmutex/readinread", rule: "O3: read inside read nests",
	},
	{
		name: "limits are not compared", what: "everybody's own limit counts",
		in: inMemory, test: "TestConformance", file: "memlock/lock.go",
		line:  "if l.limit != r.Limit {",
		wrong: "if l.limit = r.Limit; false {",
		fails: "semaphore/limits", rule: "P2: a limit that differs",
	},
	{
		name: "permits fence", what: "Token finds permits, whose holders work side by side",
		in: inMemory, test: "TestConformance", file: "context.go",
		line:  "permits := x.hold.t.req.Mode == driver.Permits",
		wrong: "permits := x.hold.t.req.Mode == driver.Permits && false",
		fails: "semaphore/fence", rule: "P2: permits do not fence",
	},
	{
		name: "duplicates are taken twice", what: "a Multi does not merge parts that are the same lock",
		in: inMemory, test: "TestConformance", file: "multi.go",
		line:  "case p.compare(last) != 0:",
		wrong: "case true:",
		fails: "multi/duplicates", rule: "O5: parts that are the same lock",
	},
	{
		name: "parts are taken as written", what: "a Multi does not sort its parts, so that two wait for each other",
		in: inMemory, test: "TestConformance", file: "multi.go",
		line:  "slices.SortStableFunc(parts, (*part).compare)",
		wrong: "_ = slices.Clone(parts)",
		fails: "multi/order", rule: "O5: parts are taken in the order",
	},
	{
		name: "stores have no order", what: "a Multi sorts its parts by their names alone",
		in: inMemory, test: "TestConformance", file: "multi.go",
		line:  "cmp.Compare(p.identity, q.identity), cmp.Compare(p.name, q.name)",
		wrong: "cmp.Compare(p.name, q.name), cmp.Compare(p.identity, q.identity)",
		fails: "multi/stores", rule: "O5: parts of several stores",
	},
	{
		name: "a failed Multi keeps its parts", what: "a Multi that cannot have all parts keeps those that it has",
		in: inMemory, test: "TestConformance", file: "multi.go",
		line:  "all.unlockParts(patience, (*Hold).undo)",
		wrong: "_ = patience",
		fails: "multi/trylock", rule: "O5: TryLock takes all or nothing",
	},
	{
		name: "takes what comes earlier", what: "a Multi waits, though its context holds a lock that everybody takes later",
		in: inMemory, test: "TestConformance", file: "multi.go",
		line:  "p.compare(have) <= 0",
		wrong: "p.compare(have) == 0",
		fails: "multi/later", rule: "O5: a context that holds",
	},
	{
		name: "Close takes the lock away", what: "Close closes the store though a function still runs under a lock",
		in: inMemory, test: "TestConformance", file: "close.go",
		line:  "go c.finishAfter(running)",
		wrong: "c.finish()",
		fails: "closing/running", rule: "C: Close does not give away",
	},
	{
		name: "some parts are not released", what: "Unlock of a Multi leaves its first part held",
		in: inMemory, test: "TestConformance", file: "multi_hold.go",
		line:  "slices.Backward(h.parts)",
		wrong: "slices.Backward(h.parts[1:])",
		fails: "multi/unlock", rule: "O5: Unlock releases every part",
	},
	{
		name: "a lost part goes unnoticed", what: "the context of a Multi ends with its last part alone",
		in: inMemory, test: "TestConformance", file: "multi_hold.go",
		line:  "for _, p := range h.parts {\n\t\tctx = p.Context(ctx)",
		wrong: "for _, p := range h.parts[len(h.parts)-1:] {\n\t\tctx = p.Context(ctx)",
		fails: "multi/broken", rule: "O5, T4: breaking one part",
	},
	{
		name: "resigns before its work is finished", what: "Run unlocks as soon as its context ends",
		in: inMemory, test: "TestConformance", file: "election.go",
		line: "err := f(ctx)",
		wrong: "if h, ok := e.mutex.target.c.Held(ctx, e.Name()); ok { context.AfterFunc(ctx, func() { h.Unlock() }) }\n" +
			"\t\t\terr := f(ctx)",
		fails: "election/windsup", rule: "P3: when its context ends Run waits",
	},
	{
		name: "gives up after a loss", what: "Run returns ErrLost instead of campaigning again",
		in: inMemory, test: "TestConformance", file: "election.go",
		line:  "if done || !errors.Is(err, ErrLost) || ctx.Err() != nil {",
		wrong: "if done || true {",
		fails: "election/again", rule: "P3: after its leadership was broken",
	},
}
