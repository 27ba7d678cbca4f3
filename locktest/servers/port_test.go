package servers

import (
	"context"
	"net"
	"testing"
	"time"
)

// A crowded kind is a Redis whose port, when it was chosen, somebody takes before it can.
type crowded struct {
	*Redis
	take  func(r *Redis) error
	tries int
}

func (c *crowded) configure() error {
	c.tries++
	if c.tries < 3 {
		if err := c.take(c.Redis); err != nil {
			return err
		}
	}
	return c.Redis.configure()
}

// A port that somebody takes between our look and the server's is given up for another one.
func TestTakenPorts(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	other, err := StartRedis(ctx)
	Need(t, err)
	defer other.Close()
	for _, c := range []struct {
		name string
		take func(r *Redis) error
	}{
		{"by one that says nothing", func(r *Redis) error {
			listener, err := net.Listen("tcp", r.Addr())
			if err == nil {
				t.Cleanup(func() { listener.Close() })
			}
			return err
		}},
		{"by another server, which answers", func(r *Redis) error {
			r.port = other.port
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Redis{path: other.path}
			if r.Server, err = newServer("redis"); err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			kind := &crowded{Redis: r, take: c.take}
			r.Server.kind = kind
			if err := r.start(ctx); err != nil {
				t.Fatal(err)
			}
			if kind.tries != 3 || r.port == other.port {
				t.Errorf("started at the try no. %d on %s", kind.tries, r.Addr())
			}
			if err := r.answers(ctx, r.Pid()); err != nil {
				t.Error(err)
			}
			if err := r.answers(ctx, other.Pid()); err == nil {
				t.Error("its answer passes for another's")
			}
		})
	}
}

// Ports are where no system gives them to whoever asks for any, and nobody expects a server.
func TestPortRange(t *testing.T) {
	for range 100 {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		if port < 10_000 || port+10_000 >= 32_768 {
			t.Errorf("port %d", port)
		}
	}
}
