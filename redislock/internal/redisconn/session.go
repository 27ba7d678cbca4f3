package redisconn

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
)

// A session is one connection of an Inbox. Its events are told by the goroutine that reads the connection.
type session struct {
	of    *Inbox
	conn  rueidis.DedicatedClient
	up    bool         // of.mu
	heard atomic.Int64 // how many messages came, its own included
	ended chan error   // the server has ended the subscription
}

func (s *session) message(m rueidis.PubSubMessage) {
	i := s.of
	if m.Channel != i.channel {
		return
	}
	s.heard.Add(1)
	if m.Message == probeText {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.session == s && i.on.Message != nil {
		i.on.Message(m.Message)
	}
}

func (s *session) subscription(e rueidis.PubSubSubscription) {
	i := s.of
	switch {
	case e.Channel != i.channel:
	case e.Kind == "sunsubscribe":
		select {
		case s.ended <- errUnsubscribed:
		default:
		}
	case e.Kind == "ssubscribe":
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.session != s || s.up {
			return
		}
		s.up = true
		i.set(true, nil)
		if i.on.Up != nil {
			i.on.Up()
		}
	}
}

// watch returns when the session has ended, and why.
func (s *session) watch(broken <-chan error) error {
	ctx, cancel := context.WithCancel(s.of.ctx)
	probes := make(chan error, 1)
	asking := false
	defer func() {
		cancel()
		if asking {
			<-probes
		}
	}()
	tick := time.NewTicker(s.of.pace.probe)
	defer tick.Stop()
	asked, last, ticks := false, s.heard.Load(), tick.C
	for {
		select {
		case err := <-broken:
			if err == nil {
				err = errUnsubscribed
			}
			return err
		case err := <-s.ended:
			return err
		case <-ctx.Done():
			return driver.ErrClosed
		case err := <-probes:
			asking = false
			switch {
			case errors.Is(err, errSilent) && s.heard.Load() == last:
				return err
			case err == nil:
				asked = true
			case isPermission(Error(err)):
				ticks = nil // rueidis asks the connection itself, more slowly
			}
		case <-ticks:
			heard := s.heard.Load()
			silent := heard == last
			if silent && asked {
				return errSilent
			}
			asked, last = false, heard
			if silent && !asking {
				asking = true
				go func() { probes <- s.probe(ctx) }()
			}
		}
	}
}

// probe asks whether the connection lives: nil if it does, errSilent if nothing answers. Another error says nothing about it.
//
// Our own clients speak RESP3, where the connection itself can be asked. One that a program brought along may not: there a message is
// sent to the inbox itself, and must be heard before the next look.
func (s *session) probe(ctx context.Context) error {
	i := s.of
	ctx, cancel := context.WithTimeout(ctx, i.pace.probe)
	defer cancel()
	if i.c.wires != nil {
		err := s.conn.Do(ctx, s.conn.B().Ping().Build()).NonRedisError()
		switch {
		case err == nil:
			s.heard.Add(1)
		case ctx.Err() != nil:
			return errSilent
		}
		return err
	}
	n, err := i.c.Do(ctx, i.c.B().Spublish().Channel(i.channel).Message(probeText).Build()).AsInt64()
	if err == nil && n == 0 || ctx.Err() != nil {
		return errSilent
	}
	return err
}
