package memlock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"holdfast.dev/driver"
)

// Renew asks for ttl from now on; see driver.Lease. Every grant has a lease of its own: its claim.
func (c *claim) Renew(ctx context.Context, ttl time.Duration) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err // nobody was asked: unknown
	}
	s := c.lock.server
	now := s.enter()
	defer s.exit()
	switch {
	case c.store.isClosed():
		return 0, errClosed
	case c.state != holding:
		return 0, c.gone() // L2
	case c.broken != nil:
		return 0, c.broken // L4
	}
	c.extend(ttl, now)
	return c.expires.Sub(now), nil
}

// extend makes c, which holds, run out no sooner than ttl from now. It never shortens (L1), and a broken hold stays as it is (B2).
func (c *claim) extend(ttl time.Duration, now driver.Instant) {
	if c.broken == nil {
		c.expires = max(c.expires, now.Add(min(ttl, MaxTTL)))
	}
}

// gone says why c, which holds no longer, does not.
func (c *claim) gone() error {
	switch {
	case c.broken == nil:
		return driver.ErrGone
	case c.broken.Now:
		return c.broken
	}
	return errors.Join(c.broken, driver.ErrGone)
}

// Format prints a text for people, whatever the verb: the attempt's id inside is a secret, and fmt would show it.
func (c *claim) Format(f fmt.State, _ rune) { io.WriteString(f, "lease of mem://") }
