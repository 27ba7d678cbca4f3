package redisconn

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

func read(wire string) (any, error) {
	return readValue(bufio.NewReaderSize(strings.NewReader(wire), 4<<10), maxDepth)
}

func TestReadValue(t *testing.T) {
	for wire, want := range map[string]any{
		"+OK\r\n":                       "OK",
		"+\r\n":                         "",
		"-ERR no\r\n":                   declined("ERR no"),
		":-7\r\n":                       int64(-7),
		"$5\r\na\r\nbc\r\n":             "a\r\nbc",
		"$0\r\n\r\n":                    "",
		"$-1\r\n":                       nil,
		"*-1\r\n":                       nil,
		"*0\r\n":                        []any{},
		"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n": []any{int64(1), []any{"x"}},
	} {
		if got, err := read(wire); !reflect.DeepEqual(got, want) || err != nil {
			t.Errorf("%q is read as %#v, %v", wire, got, err)
		}
	}
	for _, wire := range []string{"\r\n", "+OK\n", "HTTP/1.1 400\r\n", ":x\r\n", "$x\r\n", "$-2\r\n", "*-2\r\n", "$99999999\r\n", "*99999999\r\n",
		strings.Repeat("*1\r\n", maxDepth) + ":1\r\n", "+" + strings.Repeat("x", 8<<10)} {
		if got, err := read(wire); !errors.Is(err, ErrProtocol) {
			t.Errorf("%.20q is read as %#v, %v", wire, got, err)
		}
	}
	for _, wire := range []string{"", "+OK", "$5\r\nabc", "*2\r\n:1\r\n", "*16000\r\n"} {
		if got, err := read(wire); err != io.EOF && err != io.ErrUnexpectedEOF {
			t.Errorf("%q, which ends too early, is read as %#v, %v", wire, got, err)
		}
	}
}

func FuzzReadValue(f *testing.F) {
	f.Add("*2\r\n$1\r\nx\r\n:1\r\n")
	f.Fuzz(func(t *testing.T, wire string) {
		v, err := read(wire)
		if err != nil && v != nil {
			t.Errorf("%q: %v and %v", wire, v, err)
		}
		fieldsOf(v)
	})
}

// TestTalkEndsWithContext: the other side reads and says nothing.
func TestTalkEndsWithContext(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	go io.Copy(io.Discard, server)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newTalk(client).ask(ctx, []string{"PING"}); err != context.Canceled {
		t.Errorf("%v", err)
	}
}

func TestReadInfo(t *testing.T) {
	n := Node{Info: ReadInfo("# Replication\r\nrole:master\r\nslave0:ip=::1,port=6380,state=online\r\nslave_read_only:1\r\n\r\nexecutable:/a:b\r\n")}
	if n.Info["role"] != "master" || n.Info["executable"] != "/a:b" || len(n.Info) != 4 {
		t.Errorf("%q", n.Info)
	}
	if got := n.replicas(); len(got) != 1 || got[0] != "[::1]:6380" {
		t.Errorf("replicas: %q", got)
	}
}
