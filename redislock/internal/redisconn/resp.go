package redisconn

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// What an answer may have at most. INFO is some kB; whoever sends more is no Redis.
const (
	maxBulk   = 1 << 20
	maxValues = 1 << 14
	maxDepth  = 8
)

// A declined is an error that the other side replied with: "WRONGPASS invalid …". It can echo arguments: see reply.
type declined string

// A talk is a short conversation with a server or a Sentinel, apart from the client. It speaks RESP2, and is one goroutine's.
type talk struct {
	conn net.Conn
	r    *bufio.Reader
}

func newTalk(conn net.Conn) *talk { return &talk{conn: conn, r: bufio.NewReaderSize(conn, 4<<10)} }

// ask sends the requests together and returns their answers: string, int64, nil, declined, or a []any of these. It ends with ctx;
// after an error the connection is of no use, else it is as good as before.
func (t *talk) ask(ctx context.Context, requests ...[]string) ([]any, error) {
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		t.conn.SetDeadline(time.Unix(1, 0))
		close(cut)
	})
	answers, err := t.exchange(requests)
	if !stop() { // the connection's time-out is not what happened
		<-cut
		return nil, ctx.Err()
	}
	return answers, err
}

func (t *talk) exchange(requests [][]string) ([]any, error) {
	var wire bytes.Buffer
	for _, words := range requests {
		fmt.Fprintf(&wire, "*%d\r\n", len(words))
		for _, word := range words {
			fmt.Fprintf(&wire, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	if _, err := t.conn.Write(wire.Bytes()); err != nil {
		return nil, err
	}
	answers := make([]any, len(requests))
	for i := range answers {
		var err error
		if answers[i], err = readValue(t.r, maxDepth); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

var errForeign = &hint{"no Redis answers at this address; look at host and port", []error{ErrProtocol}}

// readValue reads one value of RESP2.
func readValue(r *bufio.Reader, depth int) (any, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, errForeign
	case err != nil:
		return nil, err
	case len(line) < 3 || line[len(line)-2] != '\r' || depth == 0:
		return nil, errForeign
	}
	rest := string(line[1 : len(line)-2])
	switch line[0] {
	case '+':
		return rest, nil
	case '-':
		return declined(rest), nil
	case ':':
		n, err := strconv.ParseInt(rest, 10, 64)
		if err != nil {
			return nil, errForeign
		}
		return n, nil
	case '$':
		return readBulk(r, rest)
	case '*':
		return readArray(r, rest, depth)
	}
	return nil, errForeign
}

func readBulk(r *bufio.Reader, length string) (any, error) {
	n, err := strconv.Atoi(length)
	switch {
	case err != nil || n < -1 || n > maxBulk:
		return nil, errForeign
	case n == -1:
		return nil, nil
	}
	text := make([]byte, n+2) // and a line's end
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, err
	}
	return string(text[:n]), nil
}

func readArray(r *bufio.Reader, length string, depth int) (any, error) {
	n, err := strconv.Atoi(length)
	switch {
	case err != nil || n < -1 || n > maxValues:
		return nil, errForeign
	case n == -1:
		return nil, nil
	}
	values := make([]any, 0, min(n, 64))
	for range n {
		v, err := readValue(r, depth-1)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// fieldsOf reads an array of names and values in turn; nil if it is none.
func fieldsOf(answer any) map[string]string {
	values, ok := answer.([]any)
	if !ok || len(values)%2 != 0 {
		return nil
	}
	fields := make(map[string]string)
	for i := 0; i < len(values); i += 2 {
		name, _ := values[i].(string)
		text, _ := values[i+1].(string)
		fields[name] = text
	}
	return fields
}

// ReadInfo reads the lines of INFO.
func ReadInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found && !strings.HasPrefix(name, "#") {
			fields[name] = value
		}
	}
	return fields
}

// inOwnTime keeps a time limit of ours apart from the end of a caller's context, which it would pass for.
func inOwnTime(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return os.ErrDeadlineExceeded
	}
	return err
}
