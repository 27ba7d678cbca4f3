package servers_test

import (
	"bufio"
	"io"
	"net"
	"testing"

	"holdfast.dev/locktest/servers"
)

// A connection speaks to a server without knowing its password.
type connection struct {
	t      *testing.T
	conn   net.Conn
	reader *bufio.Reader
}

func stranger(t *testing.T, r *servers.Redis) *connection {
	t.Helper()
	return strangerAt(t, r.Addr())
}

func strangerAt(t *testing.T, addr string) *connection {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &connection{t, conn, bufio.NewReader(conn)}
}

// ask says a line and returns the answer's first.
func (c *connection) ask(line string) string {
	c.t.Helper()
	deadline, _ := patience(c.t).Deadline()
	c.conn.SetDeadline(deadline)
	if _, err := io.WriteString(c.conn, line+"\r\n"); err != nil {
		c.t.Fatalf("%s: %v", line, err)
	}
	answer, err := c.reader.ReadString('\n')
	if err != nil {
		c.t.Fatalf("%s: %v", line, err)
	}
	return answer
}
