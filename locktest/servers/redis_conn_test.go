package servers

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
)

func TestReadAnswer(t *testing.T) {
	for _, c := range []struct {
		wire string
		want any
	}{
		{"+OK\r\n", "OK"},
		{"+\r\n", ""},
		{"-ERR no\r\n", RedisError("ERR no")},
		{":-7\r\n", int64(-7)},
		{"$5\r\na\r\nbc\r\n", "a\r\nbc"},
		{"$0\r\n\r\n", ""},
		{"$-1\r\n", nil},
		{"*-1\r\n", nil},
		{"*0\r\n", []any{}},
		{"*3\r\n:1\r\n*1\r\n$1\r\nx\r\n-ERR no\r\n", []any{int64(1), []any{"x"}, RedisError("ERR no")}},
	} {
		if got, err := readAnswer(bufio.NewReader(strings.NewReader(c.wire))); !reflect.DeepEqual(got, c.want) || err != nil {
			t.Errorf("%q is read as %#v, %v; want %#v", c.wire, got, err, c.want)
		}
	}
	for _, wire := range []string{"", "\r\n", "+OK", "HTTP/1.1 400\r\n", ":x\r\n", "$x\r\n", "$5\r\nabc", "*2\r\n:1\r\n", "*1\r\n$2\r\nx"} {
		if got, err := readAnswer(bufio.NewReader(strings.NewReader(wire))); err == nil {
			t.Errorf("%q is read as %#v", wire, got)
		}
	}
}

// A context that ends just when a command is done does the connection no harm.
func TestContextEndsTooLate(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	go io.Copy(io.Discard, server)
	c := &RedisConn{conn: client, reader: bufio.NewReader(client)}
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.within(ctx, func() error { cancel(); return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(ctx, "PING"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if err := c.within(t.Context(), func() error { _, err := client.Write([]byte("x")); return err }); err != nil {
		t.Errorf("the connection is broken: %v", err)
	}
}
