//go:build unix

package run

import (
	"context"
	"errors"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// open opens the store, again and again if it gives no answer, for as long as ctx lives.
func (p *Plan) open(ctx context.Context, news *news) (*holdfast.Client, error) {
	backoff := driver.Backoff{Min: 100 * time.Millisecond, Max: 5 * time.Second}
	told := ""
	for {
		client, err := p.Open(ctx, holdfast.WithObserver(news), holdfast.TTL(p.ttl())) // a store may not allow the default
		if most := (*holdfast.TTLError)(nil); errors.As(err, &most) && p.TTL == 0 && !p.StoreAsks && 2*p.Grace <= most.Max && most.Max < p.ttl() {
			p.StoreTTL = most.Max // nobody has asked for the default
			continue
		}
		if err == nil {
			for _, text := range client.Warnings() {
				p.complain("warning: %s", text)
			}
			return client, nil
		}
		if p.NoWait || isFinal(err) || ctx.Err() != nil {
			return client, err
		}
		if text := err.Error(); text != told {
			p.complain("%v; trying again", err)
			told = text
		}
		if driver.Sleep(ctx, backoff.Next()) != nil {
			return nil, err
		}
	}
}

// isFinal reports whether trying again cannot help: the store has answered, or was never asked.
func isFinal(err error) bool {
	var store *holdfast.StoreError
	return !errors.As(err, &store) || driver.Answered(err)
}
