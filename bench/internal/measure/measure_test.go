package measure

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/figure"
	"holdfast.dev/bench/internal/scenario"
	"holdfast.dev/locktest/servers"
)

// A fake is a contender inside the process, so that a test knows what it does.
type fake struct {
	lock func(ctx context.Context) (func() error, error)
}

func (f fake) Lock(ctx context.Context, _ string) (func() error, error) { return f.lock(ctx) }
func (f fake) Close() error                                             { return nil }

func measureFake(t *testing.T, goroutines int, work time.Duration, f fake) (*Result, error) {
	t.Helper()
	return spoilFake(t, goroutines, work, f, nil)
}

func spoilFake(t *testing.T, goroutines int, work time.Duration, f fake, spoil func() (func() error, error)) (*Result, error) {
	t.Helper()
	server, err := servers.StartRedis(t.Context())
	servers.Need(t, err)
	defer server.Close()
	probe, err := NewProbe(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	return Measure(t.Context(), probe, server.Addr(), Run{
		Contender: contender.Contender{Name: "fake", Open: func(context.Context, string, int) (contender.Client, error) { return f, nil }},
		Scenario:  scenario.Scenario{Name: "test", Goroutines: goroutines, Locks: 1, Clients: 2, Work: work, Times: 2},
		Warm:      5 * time.Millisecond, For: 20 * time.Millisecond, Spoil: spoil,
	})
}

// TestMeasure measures a lock that is a channel.
func TestMeasure(t *testing.T) {
	turn := make(chan struct{}, 1)
	r, err := measureFake(t, 4, 0, fake{func(ctx context.Context) (func() error, error) {
		select {
		case turn <- struct{}{}:
			return func() error { <-turn; return nil }, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Holds == 0 || r.Lasted < 40*time.Millisecond || r.Figures[figure.Throughput] <= 0 || r.Figures[figure.Failures] != 0 {
		t.Errorf("%+v", r)
	}
	if r.Figures[figure.Commands] != 0 {
		t.Errorf("it used the server: %v", r.Commands)
	}
}

// TestMeasureFindsTwoHolders: a lock that lets everybody in is found out.
func TestMeasureFindsTwoHolders(t *testing.T) {
	_, err := measureFake(t, 2, time.Millisecond, fake{func(context.Context) (func() error, error) {
		return func() error { return nil }, nil
	}})
	var violation *Violation
	if !errors.As(err, &violation) || violation.Contender != "fake" || violation.Scenario != "test" {
		t.Errorf("got %v", err)
	}
}

// TestMeasureAsksAgain: a library that gives up is asked again, and that is counted.
func TestMeasureAsksAgain(t *testing.T) {
	r, err := measureFake(t, 1, 0, fake{func(ctx context.Context) (func() error, error) {
		<-time.After(time.Millisecond)
		return nil, errors.New("no luck")
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Holds != 0 || r.Figures[figure.Failures] == 0 || r.Problem != "no luck" || r.Figures[figure.WaitP50] < 40 {
		t.Errorf("%+v", r)
	}
}

// TestSpoil: the trouble begins before the goroutines do, and is over before they are waited for: they may wait for nothing else.
func TestSpoil(t *testing.T) {
	spoiled, mended := false, make(chan struct{})
	r, err := spoilFake(t, 1, 0, fake{func(context.Context) (func() error, error) {
		if !spoiled {
			t.Error("there is no trouble yet")
		}
		<-mended
		return nil, errors.New("no luck")
	}}, func() (func() error, error) {
		spoiled = true
		return func() error { close(mended); return nil }, nil
	})
	if err != nil || r.Holds != 0 || r.Figures[figure.WaitP50] < 40 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, spoil := range []func() (func() error, error){
		func() (func() error, error) { return nil, errNoTrouble },
		func() (func() error, error) { return func() error { return errNoTrouble }, nil },
	} {
		if _, err := spoilFake(t, 1, 0, fake{func(context.Context) (func() error, error) { return func() error { return nil }, nil }}, spoil); !errors.Is(err, errNoTrouble) {
			t.Errorf("got %v", err)
		}
	}
}

var errNoTrouble = errors.New("no trouble to be had")
