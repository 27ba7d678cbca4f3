package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/redisconn"
)

func init() { driver.Register("redlock", open) }

// mostNodes is more than anybody should have: each costs a request for everything.
const mostNodes = 31

var (
	ownParams  = []string{"node", "prefix", "ttl", "guard", "tokens", "node-timeout"}
	nodeParams = []string{"timeout", "ca", "cert", "key", "servername", "insecure", "nat"} // of the connections, if the nodes are named by hosts
)

// open opens the store that a URL names. It returns when a majority of the nodes has answered, or with what they say.
func open(ctx context.Context, u *driver.URL) (driver.Store, error) {
	nodes, err := readNodes(u)
	if err != nil {
		return nil, err
	}
	opts, err := readOptions(u)
	if err != nil {
		return nil, err
	}
	s := newStore(nodes, true, newConfig(opts))
	if s.config.wrong != nil {
		return nil, &driver.URLError{Scheme: u.Scheme, Problem: s.config.wrong.(*optionError).problem}
	}
	s.reaching.Do(func() { close(s.reached) })
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// reach lets the first who uses a store that was made by New wait for the nodes, as Open does, though for a second at most: a node is then known, and what
// is wrong with it, before others are asked for their votes.
func (s *Store) reach(ctx context.Context) error {
	s.reaching.Do(func() {
		s.background.begin()
		go func() {
			defer s.background.end()
			defer close(s.reached)
			ctx, cancel := context.WithTimeout(s.work, time.Second)
			defer cancel()
			s.open(ctx) // what is wrong is told by whoever is asked
		}()
	})
	select {
	case <-s.reached:
		return s.vetoed()
	default:
	}
	select {
	case <-s.reached:
		return s.vetoed()
	case <-s.life.Done():
		return s.closed()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open connects all nodes. What a node refuses for is a mistake of the deployment, and told here, whichever node it is; one that cannot be
// reached is no reason, as long as a majority can.
func (s *Store) open(ctx context.Context) error {
	type result struct {
		i   int
		err error
	}
	results := make(chan result, len(s.nodes))
	for i, n := range s.nodes {
		go func() {
			_, err := n.connect(ctx)
			results <- result{i, err}
		}()
	}
	e := &NodesError{Need: majority(len(s.nodes)), Nodes: make([]NodeState, len(s.nodes))}
	for i, n := range s.nodes {
		e.Nodes[i] = NodeState{Node: n.name, Says: "no answer yet", Err: errPending}
	}
	count := tally{n: len(s.nodes)}
	var grace <-chan time.Time
	for range s.nodes {
		select {
		case r := <-results:
			n := &e.Nodes[r.i]
			if r.err != nil && ctx.Err() != nil && errors.Is(r.err, ctx.Err()) {
				r.err = errPending
			}
			n.Err, n.yes, n.Says = r.err, r.err == nil, "connected"
			if r.err == nil {
				count.yes++
			} else {
				count.no++
				n.Says = r.err.Error()
			}
			if driver.Answered(r.err) {
				if why := s.vetoed(); why != nil {
					return why
				}
				return &driver.NodeError{Node: n.Node, Err: r.err}
			}
		case <-grace:
			return s.vetoed()
		}
		if count.won() && grace == nil {
			grace = time.After(openGrace) // for the others, so that what is wrong with them is told
		}
	}
	if count.won() {
		return s.vetoed()
	}
	return joined(e, ctx.Err())
}

// openGrace is how long nodes that have not answered are waited for, once a majority has.
const openGrace = 150 * time.Millisecond

// readNodes reads the list of nodes: the URL's hosts, or its parameters node, each a URL.
func readNodes(u *driver.URL) ([]*node, error) {
	urls := u.Params["node"]
	switch {
	case len(u.Hosts) > 0 && len(urls) > 0:
		return nil, wrong(u, "node", "is for a list without hosts; write redlock://?node=redis://h1&node=redis://h2&node=redis://h3, or redlock://h1,h2,h3")
	case len(urls) > 0 && (u.User != "" || !u.Password.Empty()):
		return nil, wrong(u, "node", "has its own user and password; write redlock://?node=redis://user:password%40host, with %40 for the @, once for each")
	case len(urls) > 0 && u.Path != "" && u.Path != "/":
		return nil, wrong(u, "node", "has its own database; write redlock://?node=redis://host/1, once for each")
	case len(u.Hosts)+len(urls) == 0:
		return nil, wrong(u, "", "it must name the nodes; write redlock://h1:6379,h2:6379,h3:6379, for instance")
	case len(u.Hosts)+len(urls) > mostNodes:
		return nil, wrong(u, "", fmt.Sprintf("it names more than %d nodes; each of them is asked for everything, and 3 or 5 are enough", mostNodes))
	}
	var nodes []*node
	add := func(one *driver.URL) error {
		n, err := readNode(one)
		if err != nil {
			return err
		}
		for _, other := range nodes {
			if other.name == n.name {
				twice := "names " + n.name + " twice: a majority of one machine is none; name each once"
				if len(urls) > 0 {
					return wrong(u, "node", twice)
				}
				return wrong(u, "", "it "+twice)
			}
		}
		nodes = append(nodes, n)
		return nil
	}
	for _, host := range u.Hosts {
		one := &driver.URL{Scheme: "redis", User: u.User, Password: u.Password, Hosts: []string{host}, Path: u.Path, Params: map[string][]driver.Secret{}}
		for _, p := range nodeParams {
			if values := u.Params[p]; len(values) > 0 {
				one.Params[p] = values
			}
			if p != "timeout" && p != "nat" && len(u.Params[p]) > 0 {
				one.Scheme = "rediss"
			}
		}
		if err := add(one); err != nil {
			if inner, ok := errors.AsType[*driver.URLError](err); ok {
				return nil, wrong(u, inner.Param, inner.Problem)
			}
			return nil, err
		}
	}
	for _, text := range urls {
		one, err := driver.ParseURL(text.Reveal())
		if err == nil && !slices.Contains(nodeSchemes, one.Scheme) {
			err = &driver.URLError{} // as one without a scheme
		}
		if err == nil {
			err = add(one)
		}
		if err != nil {
			return nil, inNode(u, err)
		}
	}
	return nodes, nil
}

var nodeSchemes = []string{"redis", "rediss", "redis+sentinel", "rediss+sentinel"}

// inNode is an error of a URL that is the value of the parameter node.
func inNode(u *driver.URL, err error) error {
	inner, ok := errors.AsType[*driver.URLError](err)
	if !ok || inner.Param == "node" {
		return err
	}
	problem := inner.Problem
	if inner.Scheme == "" && inner.Param == "" {
		problem = "it begins with none of redis://, rediss://, redis%2Bsentinel:// and rediss%2Bsentinel://"
	}
	if inner.Param != "" {
		problem = "its parameter " + strconv.Quote(inner.Param) + " " + problem
	}
	return wrong(u, "node", "is no URL of a node: "+problem+". What it is made of is percent-encoded once more: %26 for &, %2B for +, %40 for @, %25 for %")
}

// readNode reads the URL of one node. Its name in the list is where it is, unless name= says otherwise.
func readNode(u *driver.URL) (*node, error) {
	target, err := redisconn.Options(u, "name")
	if err != nil {
		return nil, err
	}
	name, err := u.Text("name", "")
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = nameOf(u)
	}
	if badName(name) {
		return nil, wrong(u, "name", nameRule)
	}
	return &node{name: name, dial: func(ctx context.Context) (rueidis.Client, error) { return redisconn.Dial(ctx, target) }}, nil
}

const nameRule = "is 1 to 200 printable characters, without commas and spaces"

func badName(name string) bool {
	return name == "" || len(name) > 200 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == ',' || r == 0x7f })
}

// nameOf is where a node is, as all clients would write it: with its port, and what is behind it, but without user and parameters.
func nameOf(u *driver.URL) string {
	port := ":6379"
	if strings.HasSuffix(u.Scheme, "+sentinel") {
		port = ":26379"
	}
	var hosts []string
	for _, host := range u.Hosts {
		if i := strings.LastIndexByte(host, ':'); i < 0 || strings.HasSuffix(host, "]") {
			host += port
		}
		hosts = append(hosts, strings.ToLower(host))
	}
	path := strings.TrimSuffix(u.Path, "/0")
	if path == "/" {
		path = ""
	}
	return strings.Join(hosts, "+") + path
}

// readOptions reads the parameters that concern the locks.
func readOptions(u *driver.URL) ([]Option, error) {
	known := ownParams
	if len(u.Hosts) > 0 {
		known = append(known[:len(known):len(known)], nodeParams...)
	}
	if err := u.Check(known...); err != nil {
		return nil, err
	}
	prefix, err := u.Text("prefix", "")
	if err != nil {
		return nil, err
	}
	opts := []Option{Prefix(prefix)}
	if wrongAbout(opts) != "" {
		return nil, wrong(u, "prefix", wrongAbout(opts))
	}
	switch tokens, err := u.Text("tokens", "on"); {
	case err != nil:
		return nil, err
	case tokens == "off":
		opts = append(opts, WithoutTokens())
	case tokens != "on":
		return nil, wrong(u, "tokens", "is on or off")
	}
	for _, p := range []struct {
		name   string
		option func(time.Duration) Option
	}{{"ttl", TTL}, {"guard", Guard}, {"node-timeout", NodeTimeout}} {
		if _, given := u.Params[p.name]; !given {
			continue
		}
		d, err := u.Duration(p.name, 0)
		if err != nil {
			return nil, err
		}
		opts = append(opts, p.option(d))
		if problem := wrongAbout(opts); problem != "" {
			return nil, wrong(u, p.name, problem)
		}
	}
	return opts, nil
}

func wrong(u *driver.URL, param, problem string) error {
	return &driver.URLError{Scheme: u.Scheme, Param: param, Problem: problem}
}

// wrongAbout is what is wrong with options; "": nothing.
func wrongAbout(opts []Option) string {
	if w, ok := newConfig(opts).wrong.(*optionError); ok {
		return w.problem
	}
	return ""
}
