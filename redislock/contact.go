package redislock

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/redisconn"
)

// A primary that has been cut off from its replicas may have been replaced, and does not know. So it grants and renews only while it is
// proved that its replicas have followed it a moment ago: see "Replicas" in the package comment. The proof comes by itself while there is
// something to do: replicas acknowledge once a second. After a rest, or when they are late, the server answers "unproved", and the client
// lets them acknowledge at once: it has something written, and waits for it, on one connection.

// A contact is what must be proved.
type contact struct {
	lag      time.Duration // how old the proof may be; 0: the server has no replicas
	replicas int           // how many must have followed; 0: nothing is proved
}

const (
	longestLag = 2 * time.Second // replicas acknowledge every second, so that a busy server need not ask them
	fenceSlack = 2 * time.Second
	proofTime  = time.Second // how long the replicas have
)

// fence is how long a new primary renews nothing: as long as an old one may not know yet that it is none, and more.
func (c contact) fence() time.Duration {
	if c.lag == 0 {
		return 0
	}
	return c.lag + fenceSlack
}

// atLeast is c, or what was needed before if that is more: a server that has forgotten the store may have forgotten its settings too.
func (c contact) atLeast(before contact) contact {
	return contact{lag: max(c.lag, before.lag), replicas: max(c.replicas, before.replicas)}
}

// contacts finds out what must be proved, by the settings of the server as they are now. What cannot be known stays as it was.
func (s *Store) contacts(ctx context.Context, kept contact) (contact, error) {
	b := s.client.B
	all := s.client.DoMulti(ctx, b().Info().Section("replication", "stats").Build(),
		b().ConfigGet().Parameter("min-replicas-to-write", "min-replicas-max-lag").Build())
	text, err := all[0].ToString()
	if err != nil {
		return kept, s.failure(err)
	}
	info := redisconn.ReadInfo(text)
	if info["role"] == "slave" {
		return kept, s.failure(redisconn.Reply("READONLY this is a replica"))
	}
	s.served.Store(true) // whoever is none later was one
	settings, err := all[1].AsStrMap()
	replicas, maxLag := kept.replicas, longestLag
	switch err = redisconn.Error(err); {
	case err == nil:
		replicas, _ = strconv.Atoi(settings["min-replicas-to-write"])
		if seconds, _ := strconv.Atoi(settings["min-replicas-max-lag"]); seconds > 0 {
			maxLag = min(maxLag, time.Duration(seconds)*time.Second)
		} else {
			replicas = 0 // so it is off
		}
	case !driver.Answered(err):
		return kept, s.failure(err)
	} // else it may not be asked: the engine sees whether there is a setting, and takes it for 1 at least
	found := contact{lag: kept.lag, replicas: replicas}
	if replicas > 0 || isReplicated(info) && kept.lag == 0 && s.hasRoom(maxLag) {
		found.lag = maxLag
	}
	return found, nil
}

// hasRoom reports whether a guard that was asked for, or the default, has room for a fence. Only min-replicas-to-write asks for more.
func (s *Store) hasRoom(lag time.Duration) bool {
	guard := DefaultGuard
	if s.config.guard != nil {
		guard = *s.config.guard
	}
	return guard-contact{lag: lag}.fence() >= coreMinTTL
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

var isReplica = regexp.MustCompile(`^ip=[^,]*,port=[1-9][0-9]*,state=online,`) // as the engine has it

// proofs lets one caller at a time ask the replicas: the others wait for what it finds.
type proofs struct {
	mu  sync.Mutex
	now *proof // nil: nobody asks
}

type proof struct {
	done chan struct{}
	few  bool // too few have answered
}

var errFew = errors.New("too few replicas have acknowledged")

// proveAndSend lets the replicas acknowledge something, and sends cmd: both in one round trip, or, if somebody else just does the first,
// after that.
func (s *Store) proveAndSend(ctx context.Context, st *opened, cmd *command) (rueidis.RedisMessage, error) {
	s.proofs.mu.Lock()
	if others := s.proofs.now; others != nil {
		s.proofs.mu.Unlock()
		select {
		case <-others.done:
		case <-ctx.Done():
			cmd.free()
			return rueidis.RedisMessage{}, &unsent{ctx.Err()}
		}
		if others.few {
			cmd.free()
			return rueidis.RedisMessage{}, unproved(st)
		}
		return s.send(ctx, cmd)
	}
	own := &proof{done: make(chan struct{})}
	s.proofs.now = own
	s.proofs.mu.Unlock()
	message, err := s.prove(ctx, st, cmd)
	own.few = errors.Is(err, errFew)
	s.proofs.mu.Lock()
	s.proofs.now = nil
	s.proofs.mu.Unlock()
	close(own.done)
	if own.few {
		s.forget(*st) // its settings may have changed
		redisconn.Doubt(s.client)
		err = unproved(st)
	}
	return message, err
}

// prove sends cmd behind something that the replicas acknowledge.
func (s *Store) prove(ctx context.Context, st *opened, cmd *command) (rueidis.RedisMessage, error) {
	defer cmd.free()
	b, needed := s.client.B, max(st.replicas, 1) // the server may need one that the key does not tell of
	keys, args := []string{cmd.key, s.storeKey}, append([]string{cmd.store}, cmd.args...)
	all := s.client.DoMulti(ctx,
		engine.Command(s.client, fnProve, keys, args[:1]),
		b().Wait().Numreplicas(int64(needed)).Timeout(proofTime.Milliseconds()).Build(),
		engine.Command(s.client, cmd.function, keys, args))
	message, err := all[2].ToMessage()
	if engine.IsMissing(err) { // the library must be loaded again
		return engine.Call(ctx, s.client, cmd.function, keys, args)
	}
	if r, ok := readReply(message); err != nil || !ok || r.says != saysUnproved {
		return message, err // whatever came of WAIT, this was carried out
	}
	n, err := all[1].AsInt64()
	switch err := redisconn.Error(err); {
	case err == nil && n < int64(needed):
		return message, errFew
	case errors.Is(err, ErrPermission):
		return message, err // of WAIT, without which there is no proof
	}
	return message, nil
}

// unproved is the error of one who wants what only a primary may give, from a server that may be none any more.
func unproved(st *opened) error {
	return &driver.Refused{Err: &ServerError{Code: "UNPROVED", Err: ErrReplicas, Message: fmt.Sprintf("the server has not heard from %s in time, "+
		"so it may not be the primary any more: it grants and renews nothing until it has; look at its replicas and the network between them",
		count(max(st.replicas, 1), "replica"))}}
}
