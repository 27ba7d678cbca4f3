package deployment

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/locktest/servers"
)

// inTime is how long all of a test may take: only one that fails needs that long.
func inTime(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, s Settings) *Deployment {
	t.Helper()
	d, err := Start(inTime(t), s)
	servers.Need(t, err)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// write sets a key at the primary, and waits until all nodes have it.
func write(t *testing.T, d *Deployment) {
	t.Helper()
	if _, err := d.Primary().Do(t.Context(), "SET", "key", "value"); err != nil {
		t.Fatal(err)
	}
	if err := d.Replicated(inTime(t)); err != nil {
		t.Fatal(err)
	}
	for _, node := range d.nodes {
		if got, err := node.Do(t.Context(), "GET", "key"); got != "value" || err != nil {
			t.Errorf("%s has %v, %v", node.Addr(), got, err)
		}
	}
}

func TestAlone(t *testing.T) {
	t.Parallel()
	for _, keeps := range []bool{false, true} {
		d := start(t, Settings{Nodes: 1, Keeps: keeps})
		if want := "redis://" + d.Primary().Addr() + "?guard=0"; d.URL("guard=0") != want {
			t.Errorf("%s, want %s", d.URL("guard=0"), want)
		}
		for _, down := range []func(*Deployment, context.Context) error{(*Deployment).Kill, (*Deployment).Terminate} {
			write(t, d)
			if err := errors.Join(down(d, t.Context()), d.Restart(inTime(t))); err != nil {
				t.Fatal(err)
			}
			if got, err := d.Primary().Do(t.Context(), "EXISTS", "key"); (got == int64(1)) != keeps || err != nil {
				t.Errorf("kept: %v, %v; want %v", got, err, keeps)
			}
		}
	}
}

// TestReplicas: whichever way the primary goes, another takes writes, with all that was written before, and the address leads there.
func TestReplicas(t *testing.T) {
	t.Parallel()
	d := start(t, Settings{Nodes: 3, MaxLag: 1})
	write(t, d)
	old := d.Primary()
	if err := errors.Join(d.HandOver(inTime(t)), d.Promote(inTime(t))); err != nil {
		t.Fatal(err)
	}
	if d.Primary() == old || led(t, d) != d.Primary().Port() {
		t.Errorf("the primary was %s and is %s; the address leads to port %d", old.Addr(), d.Primary().Addr(), led(t, d))
	}
	write(t, d)
	conn, err := net.Dial("tcp", d.way.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	if err := errors.Join(d.HandOver(inTime(t)), d.Promote(inTime(t))); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) { // the old server runs, and would keep it
		t.Errorf("the connection to the old primary has not ended: %v", err)
	}
	write(t, d)
	old = d.Primary()
	if err := errors.Join(d.Kill(t.Context()), d.Promote(inTime(t))); err != nil {
		t.Fatal(err)
	}
	if d.Primary() == old || led(t, d) != d.Primary().Port() {
		t.Errorf("the primary was %s and is %s; the address leads to port %d", old.Addr(), d.Primary().Addr(), led(t, d))
	}
	if _, err := d.Primary().Do(t.Context(), "INCR", "number"); err != nil {
		t.Error(err)
	}
	if got, err := d.Primary().Do(t.Context(), "CONFIG", "GET", "min-replicas-*"); err != nil || !strings.Contains(flat(got), "min-replicas-max-lag 1") {
		t.Errorf("%v, %v", got, err)
	}
}

// led is the port of the server that the address leads to.
func led(t *testing.T, d *Deployment) int {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{d.way.Addr()}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	answer, err := client.Do(t.Context(), client.B().ConfigGet().Parameter("port").Build()).AsStrMap()
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(answer["port"])
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func flat(answer any) string {
	var words []string
	list, _ := answer.([]any)
	for _, word := range list {
		text, _ := word.(string)
		words = append(words, text)
	}
	return strings.Join(words, " ")
}

func TestSentinels(t *testing.T) {
	t.Parallel()
	d := start(t, Settings{Nodes: 3, Sentinels: true})
	if !strings.HasPrefix(d.URL(""), "redis+sentinel://") || strings.Count(d.URL(""), ",") != 2 {
		t.Errorf("the URL is %s", d.URL(""))
	}
	write(t, d)
	old := d.Primary()
	if err := errors.Join(d.Terminate(inTime(t)), d.Succeed(inTime(t))); err != nil {
		t.Fatal(err)
	}
	if d.Primary() == old {
		t.Error("it is still the old primary")
	}
	if got, err := d.Primary().Do(t.Context(), "GET", "key"); got != "value" || err != nil {
		t.Errorf("the new one has %v, %v", got, err)
	}
}

// TestUntil: what was wrong last is told when the time is over.
func TestUntil(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	wrong, asked := errors.New("not yet"), 0
	err := until(ctx, func() error {
		if asked++; asked == 3 {
			cancel()
		}
		return wrong
	})
	if !errors.Is(err, wrong) || !errors.Is(err, context.Canceled) || asked < 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	asked = 0
	if err := until(t.Context(), func() error { asked++; return []error{wrong, nil}[asked-1] }); err != nil || asked != 2 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
