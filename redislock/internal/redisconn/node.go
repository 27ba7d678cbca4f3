package redisconn

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// A Node is one server of a deployment, as it was found.
type Node struct {
	Addr        string            // host:port, as its deployment tells it: before nat=
	Info        map[string]string // its INFO; nil if it could not be asked
	MinReplicas int               // min-replicas-to-write; -1: not known
	MaxLag      time.Duration     // min-replicas-max-lag, if MinReplicas is known
	Policy      string            // maxmemory-policy; "": not known
	Err         error             // why something is not known
}

var nodeSettings = []string{"min-replicas-to-write", "min-replicas-max-lag", "maxmemory-policy"}

// askOwn asks the server that c uses. Its address is "" if a program's client does not tell it.
func (c *client) askOwn(ctx context.Context) (Node, error) {
	n := Node{MinReplicas: -1}
	results := c.DoMulti(ctx, c.B().Info().Build(), c.B().ConfigGet().Parameter(nodeSettings...).Build())
	text, err := results[0].ToString()
	if err != nil {
		return n, Error(err)
	}
	n.Info = ReadInfo(strings.TrimPrefix(text, "txt:")) // RESP3 says what kind of text it is
	settings, err := results[1].AsStrMap()
	if err := Error(err); err != nil && kindOf(err) == nil {
		return n, err
	}
	n.read(settings, Error(err))
	if c.wires == nil {
		for address := range c.Client.Nodes() {
			n.Addr = address
		}
		return n, nil
	}
	at, _ := c.wires.current()
	n.Addr = at.told
	return n, nil
}

// askNode asks the server at an address, on a connection for that alone.
func (t *Target) askNode(ctx context.Context, told string) Node {
	n := Node{Addr: told, MinReplicas: -1}
	answers, err := t.interview(ctx, t.reachable(told))
	if err != nil {
		n.Err = network(inOwnTime(err))
		return n
	}
	for _, answer := range answers[:2] {
		if text, no := answer.(declined); no {
			n.Err = reply(string(text))
			return n
		}
	}
	text, _ := answers[1].(string)
	n.Info = ReadInfo(text)
	if text, no := answers[2].(declined); no {
		n.read(nil, reply(string(text)))
	} else {
		n.read(fieldsOf(answers[2]), nil)
	}
	return n
}

// interview is HELLO, INFO and CONFIG GET.
func (t *Target) interview(ctx context.Context, address string) ([]any, error) {
	hello, err := t.greeting()
	if err != nil {
		return nil, err
	}
	conn, err := t.open(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	defer hangUp(conn)
	return newTalk(conn).ask(ctx, hello, []string{"INFO"}, append([]string{"CONFIG", "GET"}, nodeSettings...))
}

// read takes over the settings, or why they are not known.
func (n *Node) read(settings map[string]string, err error) {
	n.Policy = n.Info["maxmemory_policy"]
	least, err1 := strconv.Atoi(settings["min-replicas-to-write"])
	lag, err2 := strconv.Atoi(settings["min-replicas-max-lag"])
	switch {
	case isPermission(err):
		n.Err = fmt.Errorf("its settings are not known, because this user may not read them; grant it CONFIG GET (ACL SETUSER … +config|get): %w", err)
	case err != nil:
		n.Err = fmt.Errorf("its settings are not known: %w", err)
	case err1 != nil || err2 != nil:
		n.Err = errForeign
	default:
		n.MinReplicas, n.MaxLag = least, time.Duration(lag)*time.Second
		n.Policy = settings["maxmemory-policy"]
	}
}

// asked is 0 for a node that has answered, for sorting.
func (n Node) asked() int {
	if n.Info == nil {
		return 1
	}
	return 0
}

// replicas are the addresses that the node knows its replicas by.
func (n Node) replicas() (all []string) {
	for name, value := range n.Info { // slave0:ip=127.0.0.1,port=6380,state=online,…
		number, is := strings.CutPrefix(name, "slave")
		if _, err := strconv.Atoi(number); !is || err != nil {
			continue
		}
		var host, port string
		for part := range strings.SplitSeq(value, ",") {
			switch key, text, _ := strings.Cut(part, "="); key {
			case "ip":
				host = text
			case "port":
				port = text
			}
		}
		all = append(all, net.JoinHostPort(host, port))
	}
	return all
}

// listed is what a Sentinel knows of the nodes.
type listed struct {
	nodes []map[string]string // with ip, port and runid
	err   error
}

// list asks one Sentinel for the primary and all replicas that it has seen since it was last reset.
func (s *sentinels) list(ctx context.Context, t *Target, address string) listed {
	answers, err := s.talk(ctx, t, address, []string{"SENTINEL", "MASTER", s.name}, []string{"SENTINEL", "REPLICAS", s.name})
	if err != nil {
		return listed{err: err}
	}
	nodes := []map[string]string{fieldsOf(answers[0])}
	replicas, ok := answers[1].([]any)
	if !ok || nodes[0] == nil {
		return listed{err: errForeign}
	}
	for _, replica := range replicas {
		nodes = append(nodes, fieldsOf(replica))
	}
	return listed{nodes: nodes}
}
