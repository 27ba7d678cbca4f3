package arena

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"holdfast.dev"
	"holdfast.dev/driver"
	_ "holdfast.dev/filelock"
	_ "holdfast.dev/memlock"
)

// A witness has seen what a fault does: while it lasts, where it does, and afterwards.
type witness func(*stage)

// witnesses are those of all faults. A fault that has become nothing, because an option was renamed or a program is missing, would give a
// beautiful table.
var witnesses = map[driver.Fault]witness{
	driver.WorkerStop:       told(`stop ([0-2])\ngo on ([0-2])\n`, 0.5),
	driver.WorkerStopInside: told(`stop inside\ngo on\n`, 0.5),
	driver.WorkerStopWrite:  told(`stop writing until read\n`, 0),
	driver.WorkerKill:       told(`(kill [0-2]\n){1,2}`, 0),
	driver.Starve:           told(fmt.Sprintf(`burn %d\nend\n`, 2*runtime.NumCPU()), 1),
	driver.BreakNow:         told(`(tell [0-2] break [01]\n){3}`, 0),

	driver.Unlink: unlinked,

	driver.Cut:             cut,
	driver.ResetInReply:    resetInReply,
	driver.Partition:       partitioned(func(nodes int) int { return nodes }),
	driver.PartitionWorker: silence{requests: true, replies: true, refuses: true, on: 1}.seen,
	driver.LoseRequests:    silence{requests: true, on: 1}.seen,
	driver.LoseReplies:     silence{replies: true, on: 1}.seen,
	driver.HalfOpen:        silence{requests: true, replies: true, ends: true, on: 1}.seen,
	driver.Delay:           delay,
	driver.LateReply:       lateReply,
	driver.LateRequest:     lateRequest,

	driver.ServerKill:   serverKill,
	driver.ServerForget: serverForget,
	driver.ServerStop:   serverStop,
	driver.ClientKill:   clientKill,
	driver.ScriptFlush:  scriptFlush,
	driver.FunctionLoss: functionLoss,
	driver.ClockBack:    clockBack,
	driver.ClockForward: clockForward,
	driver.Flush:        flush,
	driver.DeleteKey:    deleteKey,
	driver.Evict:        evict,

	driver.Failover:       failover,
	driver.FailoverCut:    failoverCut,
	driver.FailoverTwice:  failoverTwice,
	driver.FailoverByHand: failoverByHand,
	driver.OldReturns:     oldReturns,
	driver.OldIsolated:    oldIsolated,
	driver.OldAgain:       oldAgain,
	driver.ReplicasCut:    replicasCut,
	driver.ReplicaStop:    replicaStop,

	driver.PartitionNode:     partitioned(func(int) int { return 1 }),
	driver.PartitionMajority: partitioned(func(nodes int) int { return nodes/2 + 1 }),
	driver.ForgetMinority:    forgotten(func(nodes int) int { return (nodes - 1) / 2 }),
	driver.ForgetMajority:    forgotten(func(nodes int) int { return nodes/2 + 1 }),
	driver.ForgetInTurn:      forgottenInTurn,
}

// Every fault of every kind does what it says, and is over when it is over.
func TestEveryFaultHasAWitness(t *testing.T) {
	needed := make(map[driver.Fault]bool)
	for _, kind := range Kinds() {
		for _, a := range kind.Assumptions() {
			needed[a.Fault] = true
			look, known := witnesses[a.Fault]
			if !known {
				t.Errorf("nobody has seen what %s does to %s: write a witness", a.Fault, kind.Name)
				continue
			}
			t.Run(kind.Name+"/"+string(a.Fault), func(t *testing.T) {
				t.Parallel()
				s := newStage(t, kind, a.Fault)
				if _, known := s.arena.Causes()[a.Fault]; !known {
					t.Fatal("it cannot be caused")
				}
				look(s)
			})
		}
	}
	for fault := range witnesses {
		if !needed[fault] {
			t.Errorf("%s has a witness, and is no fault of any store", fault)
		}
	}
}

// told: the workers have been told so, and between the first and the last there was this part of a TTL, at least.
func told(pattern string, least float64) witness {
	want := regexp.MustCompile("^" + pattern + "$")
	return func(s *stage) {
		s.play()
		text := ""
		for _, n := range s.crew.notes {
			text += n.text + "\n"
		}
		match := want.FindStringSubmatch(text)
		if match == nil {
			s.Fatalf("the workers were told %q; want %s", text, want)
		}
		if s.fault == driver.WorkerStop && match[1] != match[2] {
			s.Errorf("%q: another one goes on", text)
		}
		lasted := s.crew.notes[len(s.crew.notes)-1].at.Sub(s.crew.notes[0].at)
		if lasted < s.scene.Between(least, least) {
			s.Errorf("it lasted for %v, with a TTL of %v; want %v of it", lasted, s.scene.TTL, least)
		}
	}
}

// unlinked: the file of a lock that is held is gone, and whoever asks for it gets it.
func unlinked(s *stage) {
	client, err := holdfast.Open(s.Context(), s.arena.Store(0))
	if err != nil {
		s.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Mutex("hot").TryLock(s.Context()); err != nil {
		s.Fatal(err)
	}
	before := s.files()
	s.play()
	after := s.files()
	if len(before) == 0 || len(after) != len(before)-1 {
		s.Errorf("of the files %q there are %q now", before, after)
	}
	for _, file := range after {
		if !slices.Contains(before, file) {
			s.Errorf("%s was not there before", file)
		}
	}
}

func (s *stage) files() []string {
	s.Helper()
	files, err := s.arena.(*fileArena).files()
	if err != nil {
		s.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return files
}

// Two faults come at once if one of them happens to workers, and they are not the same.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		a, b driver.Fault
		want bool
	}{
		{driver.WorkerStop, driver.WorkerStop, false},
		{driver.WorkerStop, driver.WorkerKill, true},
		{driver.WorkerStopInside, driver.ServerKill, true},
		{driver.Starve, driver.Cut, true},
		{driver.WorkerStopWrite, driver.Unlink, true},
		{driver.ServerKill, driver.ServerStop, false},
		{driver.Cut, driver.Partition, false},
		{driver.BreakNow, driver.Flush, false},
	} {
		if Together(c.a, c.b) != c.want || Together(c.b, c.a) != c.want {
			t.Errorf("%s and %s: want %v", c.a, c.b, c.want)
		}
	}
}
