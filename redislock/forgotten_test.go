package redislock_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
)

// A server that restarts with less than it had: nothing, all but the last that it wrote, an older copy. Nobody gets the lock before the hold
// that it has forgotten is over for its holder. With guard=0 somebody does.
func TestRestartForgets(t *testing.T) {
	t.Parallel()
	aof := []servers.RedisOption{servers.RedisSet("appendonly", "yes"), servers.RedisSet("appendfsync", "everysec")}
	for _, c := range []struct {
		name    string
		options []servers.RedisOption
		before  func(t *testing.T, s *servers.Redis) (spoil func()) // the lock is granted
	}{
		{"everything", nil, func(*testing.T, *servers.Redis) func() { return func() {} }},
		{"the tail of the AOF", aof, remembersSizes},
		{"what came after the RDB", nil, func(t *testing.T, s *servers.Redis) func() {
			command(t, s, "SAVE")
			return func() {}
		}},
	} {
		for _, guard := range []time.Duration{3 * time.Second, 0} {
			t.Run(fmt.Sprintf("%s, guard %v", c.name, guard), func(t *testing.T) {
				t.Parallel()
				g := startNodes(t, 1, c.options...)
				params := fmt.Sprintf("guard=%v", guard)
				first, second := g.join(0, params), g.join(0, params)
				second.ready()
				spoil := c.before(t, g.all[0])
				hold := first.lock(3 * time.Second)
				first.stays()
				g.all[0].Kill()
				spoil()
				g.do(g.all[0].Restart(inTime(t)))
				if keys := command(t, g.all[0], "EXISTS", "holdfast:lock:{lock}"); keys != int64(0) {
					t.Fatal("the server has not forgotten the lock")
				}
				next, overlap := second.next(hold, time.Second)
				if overlap != (guard == 0) {
					t.Errorf("both believe in their holds: %v; the first for another %v", overlap, hold.Left())
				}
				g.do(next.Unlock())
			})
		}
	}
}

// remembersSizes returns what cuts the files of the AOF off where they end now.
func remembersSizes(t *testing.T, s *servers.Redis) func() {
	sizes := make(map[string]int64)
	files, err := filepath.Glob(filepath.Join(s.Dir(), "appendonlydir", "*.aof"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no AOF: %v", err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		sizes[file] = info.Size()
	}
	return func() {
		for file, size := range sizes {
			if err := os.Truncate(file, size); err != nil {
				t.Fatal(err)
			}
		}
	}
}
