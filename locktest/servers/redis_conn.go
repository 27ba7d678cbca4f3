package servers

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// A RedisError is an error that the server has answered: "ERR unknown command …".
type RedisError string

func (e RedisError) Error() string { return string(e) }

// A RedisConn is one connection to a server, for what needs the same one for several commands: MULTI, SUBSCRIBE, CLIENT NO-EVICT. One
// goroutine at a time may use it. It speaks RESP2.
type RedisConn struct {
	conn   net.Conn
	reader *bufio.Reader
}

// Dial connects to the server, as a user who may do everything.
func (r *Redis) Dial(ctx context.Context) (*RedisConn, error) {
	return dialRedis(ctx, r.Addr(), r.Certificates, r.user, r.password)
}

// dialRedis connects to a server, with TLS if there are certificates, as somebody if there is a password.
func dialRedis(ctx context.Context, addr string, certificates *Certificates, user, password string) (*RedisConn, error) {
	var dial interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = new(net.Dialer)
	if certificates != nil {
		config, err := certificates.forgiving()
		if err != nil {
			return nil, err
		}
		dial = &tls.Dialer{Config: config}
	}
	conn, err := dial.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &RedisConn{conn: conn, reader: bufio.NewReader(conn)}
	if password != "" {
		if user == "" {
			user = "default"
		}
		if _, err := c.Do(ctx, "AUTH", user, password); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// Do runs one command on a connection of its own: see [RedisConn.Do].
func (r *Redis) Do(ctx context.Context, args ...string) (any, error) { return once(ctx, r.Dial, args) }

// once runs one command on a connection that is made for it.
func once(ctx context.Context, dial func(context.Context) (*RedisConn, error), args []string) (any, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Do(ctx, args...)
}

// Info returns a section of INFO, or several, or all of it without any: "process_id" → "4711".
func (r *Redis) Info(ctx context.Context, sections ...string) (map[string]string, error) {
	conn, err := r.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Info(ctx, sections...)
}

// Close closes the connection.
func (c *RedisConn) Close() error { return c.conn.Close() }

// isProcess makes sure that the process with this id is the one at the other end.
func (c *RedisConn) isProcess(ctx context.Context, pid int) error {
	if _, err := c.Do(ctx, "PING"); err != nil {
		return err
	}
	info, err := c.Info(ctx, "server")
	if err == nil && info["process_id"] != strconv.Itoa(pid) {
		err = fmt.Errorf("process %s answers on %s, not %d", info["process_id"], c.conn.RemoteAddr(), pid)
	}
	return err
}

// Info is as [Redis.Info].
func (c *RedisConn) Info(ctx context.Context, sections ...string) (map[string]string, error) {
	answer, err := c.Do(ctx, append([]string{"INFO"}, sections...)...)
	if err != nil {
		return nil, err
	}
	text, _ := answer.(string)
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found && !strings.HasPrefix(name, "#") {
			fields[name] = value
		}
	}
	return fields, nil
}

// Do runs a command and returns its answer: a string, an int64, nil, or a []any of these and of RedisErrors. A RedisError that is the
// whole answer is returned as the error. After any other error the connection is of no use.
func (c *RedisConn) Do(ctx context.Context, args ...string) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("redis: no command")
	}
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(arg), arg)
	}
	var answer any
	err := c.within(ctx, func() error {
		_, err := c.conn.Write([]byte(request.String()))
		if err == nil {
			answer, err = readAnswer(c.reader)
		}
		return err
	})
	return result(answer, err, args[0])
}

// Receive waits for what the server sends unasked: the messages of a subscription.
func (c *RedisConn) Receive(ctx context.Context) (answer any, err error) {
	err = c.within(ctx, func() error {
		answer, err = readAnswer(c.reader)
		return err
	})
	return result(answer, err, "receiving")
}

func result(answer any, err error, doing string) (any, error) {
	if err != nil {
		return nil, fmt.Errorf("redis: %s: %w", doing, err)
	}
	if refused, ok := answer.(RedisError); ok {
		return nil, refused
	}
	return answer, nil
}

// within does something with the connection until ctx ends.
func (c *RedisConn) within(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.conn.SetDeadline(time.Unix(1, 0))
		close(cut)
	})
	err := do()
	if stop() {
		return err
	}
	<-cut
	if err != nil { // the connection's time-out is not what happened
		return errors.Join(ctx.Err(), err)
	}
	return c.conn.SetDeadline(time.Time{}) // it was done in time: the connection is as good as before
}

// readAnswer reads one value of RESP2.
func readAnswer(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if line == "" {
		return nil, errors.New("an empty line instead of an answer")
	}
	switch mark, rest := line[0], line[1:]; mark {
	case '+':
		return rest, nil
	case '-':
		return RedisError(rest), nil
	case ':':
		return strconv.ParseInt(rest, 10, 64)
	case '$':
		return readBulk(r, rest)
	case '*':
		return readArray(r, rest)
	}
	return nil, fmt.Errorf("%.40q instead of an answer: is this a Redis?", line)
}

func readBulk(r *bufio.Reader, length string) (any, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return nil, err
	}
	text := make([]byte, n+2) // and a line's end
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, err
	}
	return string(text[:n]), nil
}

func readArray(r *bufio.Reader, length string) (any, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return nil, err
	}
	values := make([]any, n)
	for i := range values {
		if values[i], err = readAnswer(r); err != nil {
			return nil, err
		}
	}
	return values, nil
}
