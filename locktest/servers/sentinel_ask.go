package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// haste is how much time things take with SentinelHurry, in milliseconds. A replica is asked once a second while its primary is down, and
// what it said counts for five pings: so these must not be shorter.
var haste = []string{"info-period", "500", "ping-period", "300", "ask-period", "200", "publish-period", "300",
	"election-timeout", "1000", "slave-reconf-timeout", "1000", "tilt-period", "1000"}

// answers: it is this process. It forgets its hurry when it ends.
func (s *Sentinel) answers(ctx context.Context, pid int) error {
	conn, err := s.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.isProcess(ctx, pid); err != nil || !s.settings.hurry {
		return err
	}
	_, err = conn.Do(ctx, append([]string{"SENTINEL", "DEBUG"}, haste...)...)
	return err
}

// Dial connects to the Sentinel.
func (s *Sentinel) Dial(ctx context.Context) (*RedisConn, error) {
	return dialRedis(ctx, s.Addr(), s.Certificates, "", s.settings.password)
}

// Do runs one command on a connection of its own: see [RedisConn.Do].
func (s *Sentinel) Do(ctx context.Context, args ...string) (any, error) {
	return once(ctx, s.Dial, args)
}

// Primary is the address of the primary, as the Sentinel tells its clients now. It may be down.
func (s *Sentinel) Primary(ctx context.Context) (addr string, err error) {
	answer, err := s.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.name)
	if err != nil {
		return "", err
	}
	pair, _ := answer.([]any)
	if len(pair) != 2 {
		return "", fmt.Errorf("the Sentinel %s knows no primary called %s", s.Addr(), s.name)
	}
	host, _ := pair[0].(string)
	port, _ := pair[1].(string)
	return net.JoinHostPort(host, port), nil
}

// NewPrimary waits until the Sentinel tells its clients of another primary than the one at the old address.
func (s *Sentinel) NewPrimary(ctx context.Context, old string) (addr string, err error) {
	err = await(ctx, s.current().ended, func(ctx context.Context) error {
		var err error
		if addr, err = s.Primary(ctx); err == nil && addr == old {
			err = fmt.Errorf("it is still the one at %s", old)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("waiting for the Sentinel %s to tell of another primary: %w", s.Addr(), err)
	}
	return addr, nil
}

// Failover makes the Sentinel choose another primary, though the present one is well (SENTINEL FAILOVER). It returns when the Sentinel
// has begun; it can refuse, if one is under way or no replica is good enough.
func (s *Sentinel) Failover(ctx context.Context) error {
	_, err := s.Do(ctx, "SENTINEL", "FAILOVER", s.name)
	return err
}

// Knows waits until the Sentinel has the primary in good order, at least so many replicas that are connected to it, and so many other
// Sentinels: then it can do a failover. Sentinels meet by way of the primary, every two seconds.
func (s *Sentinel) Knows(ctx context.Context, replicas, sentinels int) error {
	err := await(ctx, s.current().ended, func(ctx context.Context) error {
		primary, err := s.master(ctx)
		if err != nil {
			return err
		}
		if primary["flags"] != "master" || number(primary["num-other-sentinels"]) < sentinels {
			return fmt.Errorf("the primary is %q, and %s other Sentinels are known", primary["flags"], primary["num-other-sentinels"])
		}
		return s.linked(ctx, replicas)
	})
	if err != nil {
		return fmt.Errorf("waiting for the Sentinel %s: %w", s.Addr(), err)
	}
	return nil
}

// master is what the Sentinel knows of the primary.
func (s *Sentinel) master(ctx context.Context) (map[string]string, error) {
	answer, err := s.Do(ctx, "SENTINEL", "MASTER", s.name)
	if err != nil {
		return nil, err
	}
	return fields(answer)
}

// linked: so many replicas are in good order.
func (s *Sentinel) linked(ctx context.Context, replicas int) error {
	answer, err := s.Do(ctx, "SENTINEL", "REPLICAS", s.name)
	if err != nil {
		return err
	}
	list, _ := answer.([]any)
	good := 0
	var seen []string
	for _, entry := range list {
		replica, err := fields(entry)
		if err != nil {
			return err
		}
		if replica["flags"] == "slave" && replica["master-link-status"] == "ok" {
			good++
		}
		seen = append(seen, replica["name"]+" "+replica["flags"]+" "+replica["master-link-status"])
	}
	if good < replicas {
		return fmt.Errorf("%d of %d replicas are in good order: %s", good, replicas, strings.Join(seen, ", "))
	}
	return nil
}

// fields makes a map of a list in which names and values take turns.
func fields(answer any) (map[string]string, error) {
	list, _ := answer.([]any)
	if len(list) == 0 || len(list)%2 != 0 {
		return nil, errors.New("the Sentinel answers something else than fields")
	}
	all := make(map[string]string, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		name, _ := list[i].(string)
		all[name], _ = list[i+1].(string)
	}
	return all, nil
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
