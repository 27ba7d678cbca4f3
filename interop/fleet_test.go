package interop_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast.dev/interop/peers"
	"holdfast.dev/locktest/servers"
)

// A kind is how a fleet is made.
type kind struct {
	nodes int
	plain bool // the servers have no functions, so that ours does what the others do, and no more
}

func (k kind) String() string {
	if k.plain {
		return fmt.Sprintf("%d plain", k.nodes)
	}
	return fmt.Sprint(k.nodes)
}

// kinds are the fleets that tests of one peer run on. What ours does on plain ones is the same whoever the others are: one peer is enough.
func kinds(peer peers.Peer) []kind {
	switch {
	case peer.Single:
		return []kind{{1, false}}
	case peer.Name == "redsync":
		return []kind{{1, false}, {3, false}, {1, true}, {3, true}}
	}
	return []kind{{1, false}, {3, false}}
}

// A fleet is some independent servers, which all tests share: each uses names of its own.
type fleet struct {
	nodes []*servers.Redis
	err   error
}

var fleets = struct {
	sync.Mutex
	made map[kind]*fleet
}{made: make(map[kind]*fleet)}

func newFleet(t *testing.T, k kind) *fleet {
	t.Helper()
	fleets.Lock()
	defer fleets.Unlock()
	if fleets.made[k] == nil {
		fleets.made[k] = makeFleet(k)
	}
	servers.Need(t, fleets.made[k].err)
	return fleets.made[k]
}

func makeFleet(k kind) *fleet {
	f := new(fleet)
	var options []servers.RedisOption
	if k.plain {
		options = append(options, servers.RedisRename("FCALL", ""))
	}
	for range k.nodes {
		node, err := servers.StartRedis(context.Background(), options...)
		if err != nil {
			f.err = err
			break
		}
		f.nodes = append(f.nodes, node)
	}
	return f
}

func closeFleets() {
	fleets.Lock()
	defer fleets.Unlock()
	for _, f := range fleets.made {
		for _, node := range f.nodes {
			node.Close()
		}
	}
}

func (f *fleet) addrs() []string {
	var addrs []string
	for _, node := range f.nodes {
		addrs = append(addrs, node.Addr())
	}
	return addrs
}

// do runs a command on every node, and returns what they answered.
func (f *fleet) do(t *testing.T, args ...string) []any {
	t.Helper()
	var answers []any
	for _, node := range f.nodes {
		answer, err := node.Do(t.Context(), args...)
		if err != nil {
			t.Fatalf("%q on %s: %v", args, node.Addr(), err)
		}
		answers = append(answers, answer)
	}
	return answers
}

// values are what the nodes have under a name: as much as says who it is, of ours the attempt and its try.
func (f *fleet) values(t *testing.T, name string) []string {
	t.Helper()
	var values []string
	for _, value := range f.do(t, "GET", name) {
		text, _ := value.(string) // else there is none
		values = append(values, text[:min(len(text), 56)])
	}
	return values
}

// full waits until every node has something under a name, and returns that. It is not at once: some libraries are done at a majority.
func (f *fleet) full(t *testing.T, name string) []string {
	t.Helper()
	values := f.values(t, name)
	for limit := time.Now().Add(wait); slices.Contains(values, ""); time.Sleep(time.Millisecond) {
		if values = f.values(t, name); time.Now().After(limit) {
			t.Fatalf("%q is held, but the nodes have %q", name, values)
		}
	}
	return values
}

// isFree waits until no node has anything under a name.
func (f *fleet) isFree(t *testing.T, name string) {
	t.Helper()
	left := func() bool { return slices.Contains(f.do(t, "EXISTS", name), any(int64(1))) }
	for limit := time.Now().Add(wait); left(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("nobody holds %q any more, but the nodes have %q", name, f.values(t, name))
		}
	}
}

// never is later than any test lasts.
const never = 1000 * time.Hour

// freeAt is the moment at which a majority of the nodes will be free, if nobody renews: not before the first of these two, and not after
// the second. They differ by the time that the question took.
func (f *fleet) freeAt(t *testing.T, name string) (earliest, latest time.Time) {
	t.Helper()
	var first, last []time.Time
	for _, node := range f.nodes {
		before := time.Now()
		answer, err := node.Do(t.Context(), "PTTL", name)
		after := time.Now()
		must(t, err)
		left := time.Duration(answer.(int64)) * time.Millisecond
		switch answer.(int64) {
		case -2: // there is none
			left = 0
		case -1:
			left = never
		}
		first, last = append(first, before.Add(left-coarse)), append(last, after.Add(left+coarse))
	}
	slices.SortFunc(first, time.Time.Compare)
	slices.SortFunc(last, time.Time.Compare)
	return first[len(first)/2], last[len(last)/2]
}
