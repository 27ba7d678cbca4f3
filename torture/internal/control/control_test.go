package control

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/torture/internal/resource"
)

// TestAll: what the runner relies on.
func TestAll(t *testing.T) {
	var names []string
	checkers := []string{"windows", "tokens", "registers", "order", "liveness", "leaks", "leaders", "told", "linear"}
	for _, c := range All() {
		names = append(names, c.Name)
		if c.Title == "" || c.Wrong == "" || c.Right == "" || len(c.Caught) == 0 {
			t.Errorf("%s does not say what it is about: %+v", c.Name, c)
		}
		for _, checker := range c.Caught {
			if !slices.Contains(checkers, checker) {
				t.Errorf("%s: there is no checker %q", c.Name, checker)
			}
		}
		if c.TTL < 100*time.Millisecond || c.Duration < 2*c.TTL || c.Duration > 2*time.Second {
			t.Errorf("%s: TTL %v, duration %v: too short for the core, or too long for a round", c.Name, c.TTL, c.Duration)
		}
		if c.GateFor(false) != resource.GateAll {
			t.Errorf("%s: the gate of the twin is %q", c.Name, c.GateFor(false))
		}
		if c.change == nil && !c.Own && c.GateFor(true) == resource.GateAll {
			t.Errorf("%s is not broken", c.Name)
		}
		for i, s := range c.Steps {
			if (s.Do == FailoverCut) != c.Replicas || (s.Do == ForgetVoter) != (c.Own && c.Nodes == 3) ||
				(s.Do == HoldAnswers || s.Do == SplitVoters) != (!c.Own && c.Nodes > 1) {
				t.Errorf("%s: step %d needs other servers than it has", c.Name, i)
			}
			if s.Do.String() == "" || s.Do.Fault() == "" {
				t.Errorf("%s: step %d does nothing that is known", c.Name, i)
			}
			if s.At+s.For > c.Duration+c.TTL || i > 0 && s.At < c.Steps[i-1].At {
				t.Errorf("%s: step %d, at %v for %v, is out of order or too late", c.Name, i, s.At, s.For)
			}
		}
	}
	if want := "N1 N2 N3 N4 N5 N6 N7 N8 N9 N10 N11 N14 N15 N16"; strings.Join(names, " ") != want {
		t.Errorf("the controls are %v; they should be %s", names, want)
	}
	if _, ok := Find("N99"); ok {
		t.Error("Find finds what is not there")
	}
}

// TestStore: what is named in one process is opened in another.
func TestStore(t *testing.T) {
	b := newBench(t, "N3")
	text := b.control.Store(Options{Addr: b.server.Addr(), Broken: true, Process: 3})
	if !IsStore(text) {
		t.Fatalf("%q is not known as a store", text)
	}
	if _, o, err := parse(text); err != nil || !o.Broken || o.Process != 3 || o.Addr != b.server.Addr() {
		t.Errorf("%q was read as %+v, %v", text, o, err)
	}
	var points []Point
	s, err := OpenStore(b.ctx(), text, func(p Point) { points = append(points, p) })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b.grant(s, b.ask())
	if !slices.Equal(points, []Point{Acquired}) {
		t.Errorf("the points of one grant are %v", points)
	}
	for _, bad := range []string{"", "redis://127.0.0.1:1", "control://127.0.0.1:1/N99?broken=true&process=0", "control://127.0.0.1:1/N1",
		"control:///N1?broken=true&process=0", "control://127.0.0.1:1"} {
		if IsStore(bad) {
			t.Errorf("%q is taken for a store", bad)
		}
	}
}

// TestOpenNobody: an address at which nothing listens is an error that names it.
func TestOpenNobody(t *testing.T) {
	b := newBench(t, "N1")
	addr := b.server.Addr()
	b.server.Kill()
	if s, err := b.control.Open(b.ctx(), Options{Addr: addr}); err == nil {
		s.Close()
		t.Error("a server that is not there was opened")
	} else if !strings.Contains(err.Error(), addr) {
		t.Errorf("the error does not name the address: %v", err)
	}
}

// TestOpenOther: a control that is no lock of this package is not opened by it, nor one on another number of servers than it needs.
func TestOpenOther(t *testing.T) {
	b := newBench(t, "N7")
	all := Options{Addr: b.server.Addr(), More: []string{b.more[0].Addr(), b.more[1].Addr()}}
	for name, o := range map[string]Options{"N5": {Addr: all.Addr}, "N6": all, "N7": {Addr: all.Addr}, "N1": all} {
		c, _ := Find(name)
		if s, err := c.Open(b.ctx(), o); err == nil {
			s.Close()
			t.Errorf("%s was opened with %+v", name, o)
		}
	}
	if _, o, err := parse(b.control.Store(all)); err != nil || !slices.Equal(o.More, all.More) {
		t.Errorf("%+v was read as %+v, %v", all, o, err)
	}
}

// TestLeft: locks and marks are seen, without ids; what stays for good is not.
func TestLeft(t *testing.T) {
	b := newBench(t, "N1")
	s := b.open(Options{})
	if _, err := s.Identity(b.ctx()); err != nil {
		t.Fatal(err)
	}
	kept, freed := b.ask(), b.ask()
	freed.Name = "other"
	b.grant(s, kept)
	b.grant(s, freed)
	b.release(s, freed)
	left, err := Left(b.ctx(), b.server.Addr())
	if want := []string{"control:gone:…:other", "control:lock:lock"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("what is left is %q, %v; it should be %q", left, err, want)
	}
}
