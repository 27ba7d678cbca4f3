package resource

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
)

// A Client is a worker's connection. One goroutine at a time may use it.
type Client struct{ conn net.Conn }

// Dial connects.
func Dial(path string) (*Client, error) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, err
	}
	return &Client{conn}, nil
}

// ErrStale: the fence has seen a greater token.
var ErrStale = errors.New("the fence has seen a greater token")

// Do carries a request out, and returns the number that is there afterwards: ErrStale, or an error after which nobody knows.
func (c *Client) Do(r Request) (int64, error) {
	if _, err := c.conn.Write(r.encode()); err != nil {
		return 0, err
	}
	answer := make([]byte, answerSize)
	if _, err := io.ReadFull(c.conn, answer); err != nil {
		return 0, err
	}
	if answer[0] == answerStale {
		return 0, ErrStale
	}
	return int64(binary.LittleEndian.Uint64(answer[1:])), nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }
