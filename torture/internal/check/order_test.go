package check

import "testing"

func TestOrder(t *testing.T) {
	const (
		holder = "5 a9 asks hot p9; 6 a9 granted 1 800; 1000 fault cut began; 1000 fault cut healed;" // the fault is of no concern
		first  = "10 a1 asks hot p1; 12 a1 queued; 70 a1 granted 3 940; 80 a1 releases; 81 a1 released ok;"
		free   = "30 a9 releases; 31 a9 released ok;"
	)
	script := holder + free
	try(t,
		trial{name: "in order", script: script + `
			10 a1 asks hot p1; 12 a1 queued; 40 a1 granted 2 940; 50 a1 releases; 51 a1 released ok
			13 a2 asks hot p2; 14 a2 queued; 60 a2 granted 3 950; 65 a2 releases; 66 a2 released ok`},
		trial{name: "overtaken", want: "order", says: "asked 1.0 ms after worker 1 of process 1 (token 3) was known to be in the queue",
			script: script + first + `13 a2 asks hot p2; 40 a2 granted 2 940; 50 a2 releases; 51 a2 released ok`},
		trial{name: "overtaken by a try", want: "order", script: script + first + `13 a2 asks hot p2 try; 40 a2 granted 2 940; 50 a2 releases; 51 a2 released ok`},
		trial{name: "known only later", script: script + first + `12 a2 asks hot p2; 40 a2 granted 2 940; 50 a2 releases; 51 a2 released ok`},
		trial{name: "not known", script: script + `10 a1 asks hot p1; 70 a1 granted 3 940; 80 a1 releases; 81 a1 released ok
			13 a2 asks hot p2; 40 a2 granted 2 940; 50 a2 releases; 51 a2 released ok`},
		trial{name: "another lock", script: script + first + `13 a2 asks warm p2; 40 a2 granted 2 940; 50 a2 releases; 51 a2 released ok`},
		trial{name: "who gave up", script: script + `10 a1 asks hot p1 wait; 12 a1 queued; 70 a1 gaveup
			13 a2 asks hot p2; 40 a2 granted 2 940; 50 a2 releases; 51 a2 released ok`},
		trial{name: "served when the other asks", script: script + first + `70 a2 asks hot p2; 85 a2 granted 2 940; 86 a2 releases; 87 a2 released ok`},
		trial{name: "waiting when the other asks", want: "order", script: script + first + `69.9 a2 asks hot p2; 85 a2 granted 2 940; 86 a2 releases; 87 a2 released ok`},
		trial{name: "the same token", want: "tokens", script: script + first + `13 a2 asks hot p2; 40 a2 granted 3 940; 50 a2 releases; 51 a2 released ok`},
		trial{name: "a store without order", change: unordered,
			script: script + first + `13 a2 asks hot p2; 40 a2 granted 2 940; 50 a2 releases; 51 a2 released ok`},
		trial{name: "beyond", change: beyond, script: script + first + `13 a2 asks hot p2; 40 a2 granted 2 940; 50 a2 releases; 51 a2 released ok`},
		trial{name: "two overtake", want: "order order", script: script + first + `
			13 a2 asks hot p2; 40 a2 granted 2 940; 50 a2 releases; 51 a2 released ok
			7 a3 asks hot p3 wait; 8 a3 queued; 85 a3 granted 4 940; 86 a3 releases; 87 a3 released ok`},
		trial{name: "heard of in another order", want: "order", script: script + `
			10 a1 asks hot p1; 12 a1 queued; 55 a1 granted 3 940; 80 a1 releases; 81 a1 released ok
			13 a2 asks hot p2; 57 a2 granted 2 56; 57.1 a2 releases; 57.2 a2 released ok`},
		// The one with the greatest token has been served when the overtaker asks, and must not hide the one below it.
		trial{name: "behind one who was served", want: "order", script: `
			5 a9 asks hot p9; 6 a9 queued; 20 a9 granted 9 800; 21 a9 releases; 22 a9 released ok
			5 a1 asks chief p1 wait; 6 a1 gaveup
			23 a3 asks hot p3; 24 a3 queued; 60 a3 granted 12 940; 61 a3 releases; 62 a3 released ok
			30 a2 asks hot p2; 40 a2 granted 11 940; 50 a2 releases; 51 a2 released ok`},
	)
}

// Each trial would be an overtaking, but for a fault or a stop.
func TestOrderExcuses(t *testing.T) {
	const (
		first  = "3000 a1 asks hot p1; 3002 a1 queued; 3070 a1 granted 3 3940; 3080 a1 releases; 3081 a1 released ok;"
		second = "3013 a2 asks hot p2; 3040 a2 granted 2 3940; 3050 a2 releases; 3051 a2 released ok;"
	)
	script := first + second
	try(t,
		trial{name: "no fault", want: "order", script: script},
		trial{name: "a fault", script: script + "3020 fault cut began; 3021 fault cut healed"},
		trial{name: "a fault at the last moment", script: script + "3070 fault cut began; 3071 fault cut healed"},
		trial{name: "a fault afterwards", want: "order", script: script + "3070.1 fault cut began; 3071 fault cut healed"},
		trial{name: "a fault that is still felt", script: script + "1000 fault cut began; 1200.1 fault cut healed"},
		trial{name: "a fault that is not felt any more", want: "order", script: script + "1000 fault cut began; 1200 fault cut healed"},
		trial{name: "a fault with a guard that is still felt", script: script + "100 fault guarded began; 200.1 fault guarded healed"},
		trial{name: "a fault with a guard that is not felt any more", want: "order", script: script + "100 fault guarded began; 200 fault guarded healed"},
		trial{name: "a fault that never heals", script: script + "100 fault cut began"},
		trial{name: "a short one behind a long one", script: script + "100 fault guarded began; 200.1 fault guarded healed; 210 fault cut began; 211 fault cut healed"},
		trial{name: "the first stands still", script: script + "3060 p1 stopped; 3061 p1 continued"},
		trial{name: "the second stands still", script: script + "3030 p2 stopped; 3031 p2 continued"},
		trial{name: "the first goes on when it asks", script: script + "2060 p1 stopped; 3000 p1 continued"},
		trial{name: "the first stood still", want: "order", script: script + "2060 p1 stopped; 2999.9 p1 continued"},
		trial{name: "the second stands still later", want: "order", script: script + "3040.1 p2 stopped; 3045 p2 continued"},
		trial{name: "somebody else stands still", want: "order", script: script + "3030 p3 stopped; 3031 p3 continued"},
	)
}
