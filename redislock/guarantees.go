package redislock

import (
	"context"
	"strings"

	"holdfast.dev/driver"
)

// Guarantees says what this server promises as it is set up now; see the package comment.
func (s *Store) Guarantees(ctx context.Context) (driver.Guarantees, error) {
	if err := s.usable(ctx); err != nil {
		return driver.Guarantees{}, err
	}
	st, err := s.opened(ctx)
	if err != nil {
		return driver.Guarantees{}, err
	}
	info, err := s.client.Do(ctx, s.client.B().Info().Build()).ToString()
	if err != nil {
		return driver.Guarantees{}, s.failure(err)
	}
	guarded := st.guard > 0
	found := readInfoText(info)
	g := driver.Guarantees{
		Fencing: driver.FencingVolatile,
		FIFO:    true, Shared: true, Permits: true, Keep: true, Reserve: true,
		MinTTL: MinTTL, MaxTTL: st.maxTTL(),
		Beyond: []string{
			"the server's clock is set forward while a lock is held, also to mend one that was set back, or within the guard after a restart: holds run out early by as much (fencing tokens still rise)",
			"FLUSHALL, FLUSHDB, SWAPDB, DEL of a lock's key: holds are lost, and their holders told at their next renewal",
		},
	}
	if guarded {
		g.Fencing = driver.FencingDurable
		g.Beyond = append(g.Beyond, "a restart during which the server's clock is set back by more than the guard: tokens can fall")
	} else {
		g.Beyond = append(g.Beyond, "a restart of the server: with guard=0 a lock can be granted again while its holder believes in it")
	}
	evicts := found["maxmemory_policy"] != "" && found["maxmemory_policy"] != "noeviction"
	if evicts {
		g.Beyond = append(g.Beyond, "a full memory: maxmemory-policy is "+found["maxmemory_policy"]+", which can evict locks; set noeviction")
	}
	replicated := found["connected_slaves"] != "0" && found["connected_slaves"] != ""
	if replicated {
		g.Beyond = append(g.Beyond, "a failover to a replica: what it has not received yet is lost")
	}
	persistent := found["aof_enabled"] == "1"
	switch {
	case !persistent:
		g.Beyond = append(g.Beyond, "a restart of the server: without appendonly yes it forgets what is held; holders are told at their next renewal, and with a guard nobody else gets it before")
	case guarded:
		g.Beyond = append(g.Beyond, "a crash of the server's machine: appendfsync everysec can lose the locks of the last second; their holders are told at their next renewal")
	}
	g.SurvivesRestart = guarded && persistent && !evicts
	return g, nil
}

// readInfoText reads INFO's lines.
func readInfoText(text string) map[string]string {
	found := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			found[name] = value
		}
	}
	return found
}
