package resource_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/resource"
)

type rig struct {
	*resource.Client
	server *resource.Server
	path   string
	log    bytes.Buffer
}

func start(t *testing.T, gate resource.Gate) *rig {
	t.Helper()
	r := new(rig)
	path := filepath.Join(t.TempDir(), "s")
	r.path = path
	var err error
	if r.server, err = resource.Serve(path, gate, history.NewWriter(&r.log)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.server.Close)
	if r.Client, err = resource.Dial(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Client.Close() })
	return r
}

func (r *rig) read(t *testing.T, token uint64, fenced bool) int64 {
	t.Helper()
	value, err := r.Do(resource.Request{Token: token, Fenced: fenced})
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func (r *rig) write(token uint64, fenced bool, value int64) error {
	_, err := r.Do(resource.Request{Write: true, Token: token, Fenced: fenced, Value: value})
	return err
}

// The older holder reads, the newer one reads, the older one writes. What the gates let pass is what they are for.
func TestGates(t *testing.T) {
	for gate, want := range map[resource.Gate]error{resource.GateAll: resource.ErrStale, resource.GateWrites: nil, resource.GateNone: nil} {
		r := start(t, gate)
		r.read(t, 1, true)
		r.read(t, 2, true)
		if err := r.write(1, true, 1); !errors.Is(err, want) {
			t.Errorf("gate %q: the late write: %v, want %v", gate, err, want)
		}
		if err := r.write(2, true, 1); err != nil {
			t.Errorf("gate %q: the newer write: %v", gate, err)
		}
		if err := r.write(1, true, 9); gate == resource.GateWrites && !errors.Is(err, resource.ErrStale) {
			t.Errorf("gate %q lets a late write pass after a newer one: %v", gate, err)
		}
	}
}

// The register without a fence takes anything; the two do not mix, and neither do locks.
func TestRegisters(t *testing.T) {
	r := start(t, resource.GateAll)
	for _, token := range []uint64{5, 4, 0} {
		if err := r.write(token, false, int64(token)+10); err != nil {
			t.Errorf("token %d: %v", token, err)
		}
	}
	if got := r.read(t, 1, false); got != 10 {
		t.Errorf("unfenced: %d", got)
	}
	if got := r.read(t, 1, true); got != 0 {
		t.Errorf("fenced: %d", got)
	}
	if got, err := r.Do(resource.Request{Lock: 1, Token: 1}); got != 0 || err != nil {
		t.Errorf("another lock: %d, %v", got, err)
	}
}

// What took place is recorded with who did it, and what was refused is not.
func TestRecords(t *testing.T) {
	r := start(t, resource.GateAll)
	all := resource.Request{Write: true, Fenced: true, Lock: 3, Worker: 4, Process: 5, Attempt: 6, Token: 7, Value: 8}
	if _, err := r.Do(all); err != nil {
		t.Fatal(err)
	}
	all.Token = 6
	if _, err := r.Do(all); !errors.Is(err, resource.ErrStale) {
		t.Fatal(err)
	}
	r.read(t, 9, false)
	r.server.Close()
	got, err := history.Decode(&r.log)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d records, %v", len(got), err)
	}
	want := history.Record{At: got[0].At, Op: history.Write, Phase: history.Applied, Outcome: history.OK, Flags: history.Fenced,
		Lock: 3, Worker: 4, Process: 5, Attempt: 6, Token: 7, Value: 8}
	if got[0] != want || got[1].Op != history.Read || got[1].Flags != 0 {
		t.Errorf("%+v", got)
	}
}

// Inside is told of readers of the fenced register until it has had enough, and before they are answered.
func TestInside(t *testing.T) {
	r := start(t, resource.GateAll)
	seen := 0
	r.server.Inside(func(uint32, uint16) bool { seen++; return seen == 2 })
	r.read(t, 1, false)
	for want := range 4 {
		r.read(t, 1, true)
		if seen != min(want+1, 2) {
			t.Errorf("after %d reads: %d", want+1, seen)
		}
	}
	r.server.Inside(nil)
}

// A write that is kept is carried out when another process has come, before that one is answered, and not earlier; or when it is
// released.
func TestHoldWrite(t *testing.T) {
	for name, until := range map[string]history.Op{"read": history.Read, "write": history.Write} {
		t.Run(name, func(t *testing.T) {
			r := start(t, resource.GateNone)
			late, err := resource.Dial(r.path)
			if err != nil {
				t.Fatal(err)
			}
			defer late.Close()
			caught, done := make(chan uint32, 1), make(chan error, 1)
			release, carried := r.server.HoldWrite(until, func(process uint32) { caught <- process })
			if _, err := late.Do(resource.Request{Fenced: true, Token: 1, Process: 1}); err != nil {
				t.Fatal(err) // a read is not kept
			}
			go func() {
				_, err := late.Do(resource.Request{Write: true, Fenced: true, Token: 1, Process: 1, Value: 7})
				done <- err
			}()
			if got := <-caught; got != 1 {
				t.Errorf("it caught process %d", got)
			}
			same := resource.Request{Write: until == history.Write, Fenced: true, Process: 1, Value: 3}
			other := same
			other.Process, other.Lock = 2, 1
			for _, not := range []resource.Request{same, other, {Process: 2}} { // the same process, another lock, the other register
				if _, err := r.Do(not); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-carried:
				t.Fatal("it was carried out too early")
			default:
			}
			if _, err := r.Do(resource.Request{Write: until == history.Write, Fenced: true, Process: 2, Value: 3}); err != nil {
				t.Fatal(err)
			}
			if got := r.read(t, 0, true); got != 7 {
				t.Errorf("the register is %d when the other one was answered", got)
			}
			if err := <-done; err != nil || !release() {
				t.Errorf("the late write: %v", err)
			}
		})
	}
	r := start(t, resource.GateAll)
	release, _ := r.server.HoldWrite(history.Read, func(uint32) {})
	if release() {
		t.Error("there was nothing to keep")
	}
	if err := r.write(1, true, 1); err != nil {
		t.Error(err)
	}
	r = start(t, resource.GateAll)
	release, carried := r.server.HoldWrite(history.Read, func(uint32) {})
	written := make(chan error, 1)
	go func() { written <- r.write(1, true, 1) }()
	for !release() {
		release, carried = r.server.HoldWrite(history.Read, func(uint32) {})
		select {
		case err := <-written: // before it was to be kept
			t.Log(err)
			return
		default:
		}
	}
	<-carried
	if err := <-written; err != nil {
		t.Error(err)
	}
}
