package history_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

var meta = history.Meta{Locks: []history.LockMeta{{Name: "hot"}}, Faults: []history.FaultMeta{{Name: "cut"}}}

func TestRoundTrip(t *testing.T) {
	var file bytes.Buffer
	w := history.NewWriter(&file)
	want := []history.Record{
		{At: 7, Attempt: 1<<40 + 3, Token: 1 << 63, Value: -5, Process: 1 << 31, Worker: 65535, Lock: 0,
			Op: history.Acquire, Phase: history.Done, Outcome: history.Granted, Flags: history.Fenced},
		{At: 9, Op: history.Fault, Phase: history.Began},
	}
	for _, r := range want {
		w.Append(r)
	}
	if file.Len() != 2*history.Size || w.Err() != nil {
		t.Fatalf("%d bytes, %v", file.Len(), w.Err())
	}
	file.Write(make([]byte, history.Size-1)) // a process was killed while it wrote
	got, err := history.Decode(&file)
	if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Fatalf("%+v, %v", got, err)
	}
	if !bytes.Equal(history.Encode(got), history.Encode(want)) {
		t.Error("Encode differs")
	}
}

func TestStamps(t *testing.T) {
	var file bytes.Buffer
	w := history.NewWriter(&file)
	before := driver.Boot().Now()
	at := w.Append(history.Record{Op: history.Round, Phase: history.Began})
	if at < before || at > driver.Boot().Now() {
		t.Errorf("%d is not between %d and now", at, before)
	}
}

func TestDamage(t *testing.T) {
	good := history.Encode([]history.Record{{At: 1, Op: history.Round, Phase: history.Began}, {At: 2, Op: history.Round, Phase: history.Ended}})
	for i := range history.Size {
		bad := bytes.Clone(good)
		bad[history.Size+i] ^= 0x10
		records, err := history.Decode(bytes.NewReader(bad))
		if err == nil || !strings.Contains(err.Error(), "record 1") || len(records) != 1 {
			t.Fatalf("byte %d: %v, %d records", i, err, len(records))
		}
	}
}

func TestMerge(t *testing.T) {
	a := []history.Record{{At: 1, Op: history.Round, Phase: history.Began}, {At: 5, Op: history.Round, Phase: history.Ended}}
	b := []history.Record{{At: 3, Op: history.Acquire, Phase: history.Asked}, {At: 5, Op: history.Acquire, Phase: history.Done}}
	h, err := history.New(meta, a, b)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []history.Record{a[0], b[0], a[1], b[1]} {
		if h.Records[i] != want {
			t.Errorf("%d: %+v", i, h.Records[i])
		}
	}
}

func TestRefusals(t *testing.T) {
	if _, err := history.New(meta); !errors.Is(err, history.ErrEmpty) {
		t.Errorf("nothing: %v", err)
	}
	for name, r := range map[string]history.Record{
		"no time":       {Op: history.Acquire, Phase: history.Asked},
		"no such lock":  {At: 1, Op: history.Acquire, Phase: history.Asked, Lock: 1},
		"no such fault": {At: 1, Op: history.Fault, Phase: history.Began, Lock: 1},
		"no operation":  {At: 1, Phase: history.Asked},
		"no phase":      {At: 1, Op: history.Acquire},
		"later one":     {At: 1, Op: 200, Phase: history.Asked},
	} {
		if _, err := history.New(meta, []history.Record{r}); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestFullDisk(t *testing.T) {
	w := history.NewWriter(full{})
	w.Append(history.Record{Op: history.Round, Phase: history.Began})
	if w.Err() == nil {
		t.Error("it is not told")
	}
}
