package holdfast

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/driver"
)

// homes tells which package to import for a scheme.
var homes = map[string]string{
	"file": "holdfast.dev/filelock",
	"mem":  "holdfast.dev/memlock",

	"redis":           "holdfast.dev/redislock",
	"rediss":          "holdfast.dev/redislock",
	"redis+sentinel":  "holdfast.dev/redislock",
	"rediss+sentinel": "holdfast.dev/redislock",

	"redlock": "holdfast.dev/redislock/redlock",
}

// Open opens the store at url, for instance file:///var/lib/shop/locks or redis://127.0.0.1:6379. The driver of its scheme must be
// imported:
//
//	import _ "holdfast.dev/filelock"
//
// ctx bounds the opening only. Errors: ErrURL; ErrTTL, ErrArgument or ErrUnsupported for options that no store, or this one, can
// serve; a *RequirementError; a *StoreError. None of them contains a password.
func Open(ctx context.Context, url string, opts ...OpenOption) (*Client, error) {
	if ctx == nil {
		return nil, argumentError("the context is nil")
	}
	config := newClientConfig(opts)
	if err := config.lock.check(); err != nil {
		return nil, err
	}
	u, err := driver.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("holdfast: %w", err)
	}
	open, known := driver.Lookup(u.Scheme)
	if !known {
		return nil, fmt.Errorf("holdfast: %w", unknownScheme(u.Scheme))
	}
	store, err := open(ctx, u)
	if err != nil {
		if errors.Is(err, ErrURL) {
			return nil, fmt.Errorf("holdfast: %w", err)
		}
		return nil, &StoreError{Op: "open", Store: u.String(), Err: err}
	}
	c := New(store, opts...)
	if err := c.greet(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// greet finds out what the store promises, and whether that is enough.
func (c *Client) greet(ctx context.Context) error {
	g, err := c.Guarantees(ctx)
	if err != nil {
		return err
	}
	return c.meets(g, Exclusive, &c.config.lock)
}

func unknownScheme(scheme string) error {
	problem := "no driver for this scheme is imported"
	if home := homes[scheme]; home != "" {
		problem += fmt.Sprintf("; add: import _ %q", home)
	} else {
		problem += "; this version has " + strings.Join(slices.Sorted(maps.Keys(homes)), ", ")
	}
	if schemes := driver.Schemes(); len(schemes) > 0 {
		problem += "; imported here are: " + strings.Join(schemes, ", ")
	} else {
		problem += "; none is imported at all"
	}
	return &driver.URLError{Scheme: scheme, Problem: problem}
}

// noStore stands in for a nil store, so that New need not fail: every use of its client says ErrArgument.
type noStore struct{}

var errNoStore = argumentError("New: the store is nil")

func (noStore) Acquire(context.Context, *driver.Request) (*driver.Grant, error) {
	return nil, errNoStore
}
func (noStore) Release(context.Context, *driver.Request) error { return errNoStore }
func (noStore) Guarantees(context.Context) (Guarantees, error) { return Guarantees{}, errNoStore }
func (noStore) Clock() driver.Clock                            { return driver.Local() }
func (noStore) String() string                                 { return "none" }
func (noStore) Identity(context.Context) (string, error)       { return "", errNoStore }
func (noStore) Close() error                                   { return nil }
