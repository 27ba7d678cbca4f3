package contender

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// limitOfMajority is the least that a lock in a majority can be: SET NX PX at all nodes at once, done when most have said yes; then the
// compare-and-delete script at all nodes at once, done when most have deleted. The others finish behind the caller's back. It has no time-outs, so it is
// not measured where a node stands still.
func limitOfMajority() Contender {
	return Contender{
		Name: "limit", Role: Limit, Module: "github.com/redis/rueidis",
		Settings: "SET NX PX and a compare-and-delete script at all nodes at once, done at a majority; rueidis with its defaults",
		Direct:   []string{"set"},
		Open: func(_ context.Context, addr string, _ int) (Client, error) {
			return openMajorityLimit(strings.Split(addr, ","))
		},
	}
}

type majorityLimit struct {
	nodes []*limitClient
	holds atomic.Uint64
}

func openMajorityLimit(addrs []string) (Client, error) {
	c := new(majorityLimit)
	for _, addr := range addrs {
		node, err := openLimit(addr, rueidis.ClientOption{})
		if err != nil {
			c.Close()
			return nil, err
		}
		c.nodes = append(c.nodes, node.(*limitClient))
	}
	return c, nil
}

// Lock starts a goroutine for each node, which takes the key there, waits until the lock is given back, and deletes it: so at a node that is late
// these two stay in order.
func (c *majorityLimit) Lock(ctx context.Context, name string) (func() error, error) {
	id := strconv.FormatUint(c.holds.Add(1), 10)
	taken, freed := make(chan error, len(c.nodes)), make(chan error, len(c.nodes))
	back := make(chan struct{})
	for _, node := range c.nodes {
		go func() {
			err := node.take(context.WithoutCancel(ctx), name, id)
			taken <- err
			<-back
			if err == nil {
				err = node.free(name, id)
			}
			freed <- err
		}()
	}
	if err := c.most(taken); err != nil {
		close(back)
		return nil, err
	}
	return func() error {
		close(back)
		return c.most(freed)
	}, nil
}

// most waits until a majority has succeeded, or cannot any more.
func (c *majorityLimit) most(answers <-chan error) error {
	need, spare := len(c.nodes)/2+1, (len(c.nodes)-1)/2
	for {
		if err := <-answers; err == nil {
			need--
		} else if spare--; spare < 0 {
			return err
		}
		if need == 0 {
			return nil
		}
	}
}

func (c *majorityLimit) Close() error {
	for _, node := range c.nodes {
		node.Close()
	}
	return nil
}
