package interop_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev/interop/internal/line"
	"holdfast.dev/interop/peers"
)

// ours is the library under test, in a process of its own.
var ours = peers.Holdfast

const (
	forLong = 2 * time.Minute       // a TTL that no test lives to see the end of
	wait    = time.Minute           // how long to wait for what must come before that
	brief   = 2 * time.Second       // a TTL whose end is waited for
	coarse  = 10 * time.Millisecond // by how much clocks may differ, one of which counts milliseconds
	tries   = 4                     // how often a test is done again because the machine was too busy
)

func TestMain(m *testing.M) {
	peers.Serve()
	flag.Parse()
	flag.Set("test.parallel", "16") // most of the tests wait for the end of a TTL
	code := m.Run()
	closeFleets()
	os.Exit(code)
}

// all returns the peers that are wanted.
func all() []peers.Peer {
	list := peers.InGo()
	if packages := os.Getenv("HOLDFAST_INTEROP"); packages != "" {
		list = append(list, peers.Elsewhere(packages)...)
	}
	return list
}

// each runs a test for every peer on every fleet that it can use, side by side.
func each(t *testing.T, test func(t *testing.T, peer peers.Peer, f *fleet)) { eachOf(t, all(), test) }

func eachOf(t *testing.T, list []peers.Peer, test func(t *testing.T, peer peers.Peer, f *fleet)) {
	t.Parallel()
	for _, peer := range list {
		for _, k := range kinds(peer) {
			t.Run(fmt.Sprintf("%s/%v", peer.Name, k), func(t *testing.T) {
				t.Parallel()
				test(t, peer, newFleet(t, k))
			})
		}
	}
}

// eachWay runs a test for every peer as the first and ours as the second, and the other way round.
func eachWay(t *testing.T, test func(t *testing.T, f *fleet, first, second *line.Program)) {
	each(t, func(t *testing.T, peer peers.Peer, f *fleet) {
		t.Run("they first", func(t *testing.T) {
			t.Parallel()
			test(t, f, start(t, peer, f), start(t, ours, f))
		})
		t.Run("we first", func(t *testing.T) {
			t.Parallel()
			test(t, f, start(t, ours, f), start(t, peer, f))
		})
	})
}

// start runs a peer until the end of the test. If what it needs is not installed the test is skipped, unless it must be there.
func start(t *testing.T, peer peers.Peer, f *fleet) *line.Program {
	t.Helper()
	program, err := peer.Start(t.Context(), f.addrs()...)
	switch {
	case errors.Is(err, peers.ErrMissing) && os.Getenv("HOLDFAST_TEST_REQUIRE") != "all":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(program.Close)
	return program
}

var named atomic.Int64

// newName makes a name that nobody has used. What is odd in it must reach the servers unchanged, in every language.
func newName(t *testing.T) string {
	return fmt.Sprintf("%s:%d é/{1}%%41", strings.ReplaceAll(t.Name(), "/", ":"), named.Add(1))
}

// must ends a test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustBe ends a test at an answer other than want.
func mustBe(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("the answer is %v, not %v", err, want)
	}
}
