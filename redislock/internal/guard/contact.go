package guard

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/redisconn"
)

// A primary that has been cut off from its replicas may have been replaced, and does not know. So it grants and renews only while it is
// proved that its replicas have followed it a moment ago: see "Replicas" in the package comment. The proof comes by itself while there is
// something to do: replicas acknowledge once a second. After a rest, or when they are late, the server answers "unproved", and the client
// lets them acknowledge at once: it has something written, and waits for it, on one connection.

const (
	longestLag = 2 * time.Second // replicas acknowledge every second, so that a busy server need not ask them
	fenceSlack = 2 * time.Second
)

// contacts finds out what must be proved, by the settings of the server as they are now. What cannot be known stays as it was.
func (s *Store) contacts(ctx context.Context, kept Contact) (Contact, error) {
	b := s.config.Client.B
	all := s.config.Client.DoMulti(ctx, b().Info().Section("replication", "stats").Build(),
		b().ConfigGet().Parameter("min-replicas-to-write", "min-replicas-max-lag").Build())
	text, err := all[0].ToString()
	if err != nil {
		return kept, s.Failure(err)
	}
	info := redisconn.ReadInfo(text)
	if info["role"] == "slave" {
		return kept, s.Failure(redisconn.Reply("READONLY this is a replica"))
	}
	s.served.Store(true) // whoever is none later was one
	settings, err := all[1].AsStrMap()
	replicas, maxLag := kept.Replicas, longestLag
	switch err = redisconn.Error(err); {
	case err == nil:
		replicas, _ = strconv.Atoi(settings["min-replicas-to-write"])
		if seconds, _ := strconv.Atoi(settings["min-replicas-max-lag"]); seconds > 0 {
			maxLag = min(maxLag, time.Duration(seconds)*time.Second)
		} else {
			replicas = 0 // so it is off
		}
	case !driver.Answered(err):
		return kept, s.Failure(err)
	} // else it may not be asked: guard.lua sees whether there is a setting, and takes it for 1 at least
	found := Contact{Lag: kept.Lag, Replicas: replicas}
	if replicas > 0 || isReplicated(info) && kept.Lag == 0 && s.hasRoom(maxLag) {
		found.Lag = maxLag
	}
	return found, nil
}

// hasRoom reports whether a guard that was asked for, or the default, has room for a fence. Only min-replicas-to-write asks for more.
func (s *Store) hasRoom(lag time.Duration) bool {
	return s.guard()-Contact{Lag: lag}.Fence() >= coreMinTTL
}

// isReplicated reports whether a server has replicas, or has been one. What makes a copy for itself alone, as redis-cli --rdb does, is none.
func isReplicated(info map[string]string) bool {
	for name, value := range info {
		if number := strings.TrimPrefix(name, "slave"); number != name && isReplica.MatchString(value) {
			return true
		}
	}
	return hasFollowed(info)
}

// hasFollowed reports whether a server was a replica since it started. A second id alone does not tell: it may come from its own file.
func hasFollowed(info map[string]string) bool {
	return strings.Trim(info["master_replid2"], "0") != "" && info["total_net_repl_input_bytes"] != "0"
}

var isReplica = regexp.MustCompile(`^ip=[^,]*,port=[1-9][0-9]*,state=online,`) // as guard.lua has it
