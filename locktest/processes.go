package locktest

import (
	"os"
	"path/filepath"
	"strconv"

	"holdfast.dev"
)

var processes = topic{"processes", []casus{
	{"exclusion", processed, processesExclude,
		"A2: of several processes one at a time holds"},
	{"kill", processed, killedHolder,
		"G: what a killed process held is free in the end, and not before: take-over after kill −9"},
	{"queue", processed, killedWaiter,
		"the life of an attempt: a killed process that waited does not keep the others waiting"},
	{"stop", processed | stopping | expires, stoppedHolder,
		"T1, T4: a process that was stopped for longer than its TTL has lost its hold when it goes on, and knows it at once"},
	{"lasting", processed | stopping | lasting, stoppedHolderKeeps,
		"G: where nothing runs out a process that is stopped keeps its hold, however long, and goes on holding"},
	{"stopkill", processed | stopping | lasting, killedWhileStopped,
		"G: where nothing runs out what a process held is free when it has ended, also when it was stopped and killed"},
	{"readers", processed | shared, killedReader,
		"G: a killed process that read does not keep a writer waiting, and no other reader is touched"},
	{"permits", processed | permitting, killedPermits,
		"G: the permits of a killed process are free in the end, and no others"},
	{"kept", processed | keep, keptAfterKill,
		"O6, G: a lock whose holder was killed stays taken, by nobody, until its MinHold is over since the grant"},
	{"tokens", processed | tokens, tokensRiseAcrossCrash,
		"G: tokens rise across processes and across kill −9"},
}}

func processesExclude(t *trial) {
	const children, times = 3, 15
	file := filepath.Join(t.TempDir(), "number")
	if err := os.WriteFile(file, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	todo := task{Do: "count", Name: t.name("lock"), TTL: t.long, File: file, Times: times}
	var all []*child
	for range children {
		all = append(all, t.child(todo))
	}
	for _, c := range all {
		c.hears("ready")
	}
	for _, c := range all {
		c.hears("counted")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := strconv.Atoi(string(text)); n != children*times {
		t.Errorf("%d processes raised a number %d times each, under the lock, and it is %q: updates were lost", children, times, text)
	}
}

func killedHolder(t *trial) {
	name := t.name("lock")
	here := t.locks()
	holder := t.child(task{Do: "hold", Name: name, TTL: t.ttl})
	holder.hears("granted")
	waiting := t.locking(t.ctx, here, name)
	t.heldByOther(here, name)
	holder.kill()
	t.unlock(waiting.granted())
}

func killedWaiter(t *trial) {
	name := t.name("lock")
	here, there := t.locks(), t.locks()
	held := t.lock(here, name)
	dies := t.child(task{Do: "hold", Name: name, TTL: t.ttl})
	dies.hears("waiting")
	behind := t.locking(t.ctx, there, name)
	dies.kill()
	t.unlock(held)
	t.unlock(behind.granted())
}

func stoppedHolder(t *trial) {
	name := t.name("lock")
	here := t.locks()
	holder := t.child(task{Do: "hold", Name: name, TTL: t.ttl})
	token := holder.hears("granted").Token
	if err := holder.stop(); err != nil {
		t.Fatalf("stopping the child: %v", err)
	}
	hold := t.lock(here, name)
	if err := holder.goOn(); err != nil {
		t.Fatalf("letting the child go on: %v", err)
	}
	holder.tell("state")
	switch state := holder.hears("state"); {
	case state.Left != 0:
		t.Errorf("the process that was stopped says that %v are left, while another holds the lock", state.Left)
	case state.Reason == "" || state.Reason == string(holdfast.ReasonMaxHold):
		t.Errorf("the process that was stopped says reason %q; its hold was lost", state.Reason)
	case state.Token != token:
		t.Errorf("the process that was stopped says token %d; it was %d", state.Token, token)
	case token != 0 && hold.Token() <= token:
		t.Errorf("token %d was granted after token %d", hold.Token(), token)
	}
	t.heldByOther(t.locks(), name)
	t.unlock(hold)
}

func tokensRiseAcrossCrash(t *trial) {
	name := t.name("lock")
	here := t.locks()
	top := uint64(0)
	for range 2 {
		holder := t.child(task{Do: "hold", Name: name, TTL: t.ttl})
		if token := holder.hears("granted").Token; token <= top {
			t.Errorf("token %d was granted to a process after token %d", token, top)
		} else {
			top = token
		}
		holder.kill()
		hold := t.lock(here, name)
		if hold.Token() <= top {
			t.Errorf("token %d was granted after token %d, whose process was killed", hold.Token(), top)
		}
		top = hold.Token()
		t.unlock(hold)
	}
}
