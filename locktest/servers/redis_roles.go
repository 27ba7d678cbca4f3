package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// replication is what the settings say about primaries and replicas.
func (r *Redis) replication() [][]string {
	s := r.settings
	var lines [][]string
	follow := func(addr string) {
		host, port, _ := net.SplitHostPort(addr) // it was checked
		lines = append(lines, []string{"replicaof", host, port})
	}
	switch {
	case s.follows != "":
		follow(s.follows)
	case s.primary != nil:
		follow(s.primary.Addr())
	}
	switch {
	case s.primary != nil:
		lines = append(lines, s.primary.forReplicas()...)
	case r.password != "": // when it has to follow somebody, all have the same
		lines = append(lines, r.forReplicas()...)
	}
	if s.tls {
		lines = append(lines, []string{"tls-replication", "yes"})
	}
	if s.announce != "" {
		host, port, _ := net.SplitHostPort(s.announce)
		lines = append(lines, []string{"replica-announce-ip", host}, []string{"replica-announce-port", port})
	}
	return lines
}

// forReplicas is what a replica of r must know to be let in.
func (r *Redis) forReplicas() [][]string {
	var lines [][]string
	if r.password != "" {
		lines = append(lines, []string{"masterauth", r.password})
	}
	if r.user != "" {
		lines = append(lines, []string{"masteruser", r.user})
	}
	return lines
}

// Role is what the server is now: "master" or "slave", in its own words.
func (r *Redis) Role(ctx context.Context) (string, error) {
	answer, err := r.Do(ctx, "ROLE")
	if err != nil {
		return "", err
	}
	list, _ := answer.([]any)
	if len(list) == 0 {
		return "", fmt.Errorf("redis: ROLE: answers %v", answer)
	}
	role, _ := list[0].(string)
	return role, nil
}

// Promote makes it a primary, with the data that it has (REPLICAOF NO ONE). A primary stays one.
func (r *Redis) Promote(ctx context.Context) error {
	_, err := r.Do(ctx, "REPLICAOF", "NO", "ONE")
	return err
}

// Follow makes it a replica of whoever is at an address (REPLICAOF). It does not wait for anything: Linked does.
func (r *Redis) Follow(ctx context.Context, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("following %q: write host:port: %w", addr, err)
	}
	_, err = r.Do(ctx, "REPLICAOF", host, port)
	return err
}

// Failover lets a primary hand over to one of its replicas, which must be able to reach it, and waits until it is a replica itself
// (FAILOVER). If that does not come about before ctx ends it is called off.
func (r *Redis) Failover(ctx context.Context) error { return r.failover(ctx, "FAILOVER") }

// FailoverTo is Failover to the replica that has announced this address.
func (r *Redis) FailoverTo(ctx context.Context, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("handing over to %q: write host:port: %w", addr, err)
	}
	return r.failover(ctx, "FAILOVER", "TO", host, port)
}

func (r *Redis) failover(ctx context.Context, command ...string) error {
	if _, err := r.Do(ctx, command...); err != nil {
		return err
	}
	err := await(ctx, r.current().ended, func(ctx context.Context) error {
		info, err := r.Info(ctx, "replication")
		if err == nil && (info["role"] != "slave" || info["master_failover_state"] != "no-failover") {
			err = fmt.Errorf("it is a %s in the state %s", info["role"], info["master_failover_state"])
		}
		return err
	})
	if err == nil {
		return nil
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), shortly)
	defer cancel()
	r.Do(undo, "FAILOVER", "ABORT") // an error: it has just come about, or the server is gone
	return fmt.Errorf("waiting for the primary %s to hand over: %w", r.Addr(), err)
}

// RestartAs is Restart with redis.conf as the options of the start have made it, and these lines after that: what CONFIG REWRITE or a
// Sentinel has changed there since is undone. RestartAs(ctx, "replicaof no one") brings an old primary back that has not heard of its
// successor. What is on disk stays.
func (r *Redis) RestartAs(ctx context.Context, lines ...string) error {
	return r.restart(ctx, func() error { return r.writeSettings(lines...) })
}

// Linked waits until this replica is connected to its primary, whoever that is, and has the data.
func (r *Redis) Linked(ctx context.Context) error {
	err := await(ctx, r.current().ended, func(ctx context.Context) error {
		_, err := r.link(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("waiting for the replica %s: %w", r.Addr(), err)
	}
	return nil
}

// link returns how far a replica has come, if it is connected.
func (r *Redis) link(ctx context.Context) (offset int64, err error) {
	info, err := r.Info(ctx, "replication")
	if err != nil {
		return 0, err
	}
	if info["role"] != "slave" || info["master_link_status"] != "up" {
		return 0, fmt.Errorf("it is a %s, link %q", info["role"], info["master_link_status"])
	}
	return strconv.ParseInt(info["slave_repl_offset"], 10, 64)
}

// Sync waits until this replica is connected to the primary of RedisReplicaOf and has all that was written there before the call.
func (r *Redis) Sync(ctx context.Context) error {
	primary := r.settings.primary
	if primary == nil {
		return errors.New("waiting for a replica: this is none, it was started without RedisReplicaOf")
	}
	info, err := primary.Info(ctx, "replication")
	if err != nil {
		return fmt.Errorf("asking the primary how far it is: %w", err)
	}
	written, err := strconv.ParseInt(info["master_repl_offset"], 10, 64)
	if err != nil {
		return fmt.Errorf("asking the primary how far it is: %w", err)
	}
	err = await(ctx, r.current().ended, func(ctx context.Context) error {
		offset, err := r.link(ctx)
		if err == nil && offset < written {
			err = fmt.Errorf("offset %d of %d", offset, written)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("waiting for the replica %s of %s: %w", r.Addr(), primary.Addr(), err)
	}
	return nil
}
