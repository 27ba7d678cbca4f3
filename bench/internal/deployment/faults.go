package deployment

import (
	"context"
	"fmt"
)

// Kill ends the primary, as kill −9 does.
func (d *Deployment) Kill(context.Context) error {
	d.Primary().Kill()
	d.gone = d.primary
	return nil
}

// Terminate lets the primary shut down by itself, as a service manager does (SIGTERM).
func (d *Deployment) Terminate(ctx context.Context) error {
	err := d.Primary().Terminate(ctx)
	d.gone = d.primary
	return err
}

// HandOver lets the primary hand over to a replica (FAILOVER), and returns when it follows that one. Clients are still led to the old one:
// Promote leads them on.
func (d *Deployment) HandOver(ctx context.Context) error {
	next := d.next()
	if err := d.Primary().FailoverTo(ctx, d.nodes[next].Addr()); err != nil {
		return err
	}
	d.primary = next
	return nil
}

// Restart brings the primary back that is gone, with what it has on disk.
func (d *Deployment) Restart(ctx context.Context) error {
	if err := d.Primary().Restart(ctx); err != nil {
		return err
	}
	d.gone = -1
	return d.writable(ctx)
}

// Promote makes a replica the primary if there is none, as an administrator does, at once: the others follow it, and the address moves.
func (d *Deployment) Promote(ctx context.Context) error {
	if d.gone == d.primary {
		d.primary = d.next()
		if err := d.Primary().Promote(ctx); err != nil {
			return err
		}
	}
	for i, node := range d.nodes {
		if i == d.primary || i == d.gone {
			continue
		}
		if err := node.Follow(ctx, d.Primary().Addr()); err != nil {
			return err
		}
	}
	if err := d.writable(ctx); err != nil {
		return err
	}
	if err := d.way.Retarget(d.Primary().Addr()); err != nil {
		return err
	}
	d.way.Cut()
	return nil
}

// Succeed waits until the Sentinels have made a replica the primary.
func (d *Deployment) Succeed(ctx context.Context) error {
	addr, err := d.sentinels[0].NewPrimary(ctx, d.Primary().Addr())
	if err != nil {
		return err
	}
	for i, node := range d.nodes {
		if node.Addr() == addr {
			d.primary = i
			return d.writable(ctx)
		}
	}
	return fmt.Errorf("the Sentinels have chosen %s, which is none of the nodes", addr)
}

func (d *Deployment) next() int { return (d.primary + 1) % len(d.nodes) }
