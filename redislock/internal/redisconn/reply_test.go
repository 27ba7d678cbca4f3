package redisconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
)

// TestReplies are replies that a test cannot easily bring a server to.
func TestReplies(t *testing.T) {
	for text, want := range map[string]struct {
		code     string
		kind     error
		answered bool
	}{
		"NOAUTH Authentication required.":                                        {"NOAUTH", ErrAuth, true},
		"invalid password":                                                       {"ERR", ErrAuth, true},
		"ERR invalid password":                                                   {"ERR", ErrAuth, true},
		"Client sent AUTH, but no password is set":                               {"ERR", ErrAuth, true},
		"AUTH <password> called without any password configured for the …":       {"ERR", ErrAuth, true},
		"DENIED Redis is running in protected mode because …":                    {"DENIED", ErrPermission, true},
		"MOVED 866 127.0.0.1:7001":                                               {"MOVED", ErrCluster, true},
		"ASK 866 127.0.0.1:7001":                                                 {"ASK", ErrCluster, true},
		"CROSSSLOT Keys in request don't hash to the same slot":                  {"CROSSSLOT", ErrCluster, true},
		"CLUSTERDOWN Hash slot not served":                                       {"CLUSTERDOWN", ErrCluster, true},
		"LOADING Redis is loading the dataset in memory":                         {"LOADING", ErrTemporary, false},
		"TRYAGAIN Multiple keys request during rehashing of slot":                {"TRYAGAIN", ErrTemporary, false},
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is no": {"MASTERDOWN", ErrTemporary, false},
		"max number of clients reached":                                          {"ERR", ErrTemporary, false},
		"unknown command `FCALL`, with args beginning with: `" + attempt + "`, ": {"ERR", ErrFunctions, true},
		"unknown command 'HELLO', with args beginning with: '3' '" + canary:      {"ERR", ErrFunctions, true},
		"BUSYGROUP Consumer Group name already exists":                           {"BUSYGROUP", nil, true},
		"wrong number of arguments for '" + canary + "' command":                 {"ERR", nil, true},
		"Invalid thing: " + attempt:                                              {"ERR", nil, true},
		"":                                                                       {"ERR", nil, true},
		"user_function:4: attempt to index 'x' script: f, on @user_function:4.":  {"ERR", nil, false},
	} {
		err := reply(text)
		e := kindOf(err)
		if e == nil || e.Code != want.code || e.Err != want.kind || driver.Answered(err) != want.answered {
			t.Errorf("%q: %T %v, code %q, kind %v", text, err, err, e.Code, e.Err)
		}
		if Error(err) != err {
			t.Errorf("%q: translated twice", text)
		}
		noSecret(t, text, err)
	}
}

// TestErrorLeavesUnknown: what is no reply is not made one.
func TestErrorLeavesUnknown(t *testing.T) {
	if Error(nil) != nil {
		t.Error("nil became an error")
	}
	for _, err := range []error{io.EOF, context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF, rueidis.Nil, driver.ErrClosed} {
		if got := Error(err); got != err || driver.Answered(got) {
			t.Errorf("%v became %v", err, got)
		}
	}
	for _, err := range []error{rueidis.ErrClosing, fmt.Errorf("x: %w", rueidis.ErrClosing), rueidis.ErrDedicatedClientRecycled} {
		if got := Error(err); got != driver.ErrClosed {
			t.Errorf("%v became %v", err, got)
		}
	}
}

// FuzzReply: whatever the server says, a message of ours is short, printable, and without a secret in quotes or of its length.
func FuzzReply(f *testing.F) {
	f.Add("ERR x '%s' y")
	f.Add("OOM %s")
	f.Add("x\x1b[31m%s \"%s\" script: f, on @user_function:1.")
	unprintable := regexp.MustCompile(`[\x00-\x1f\x7f]`)
	f.Fuzz(func(t *testing.T, text string) {
		err := reply(strings.ReplaceAll(text, "%s", attempt))
		message := err.Error()
		if len(message) > 600 || unprintable.MatchString(message) || strings.Contains(message, attempt) {
			t.Errorf("%q became %q", text, message)
		}
		if e := kindOf(err); e == nil || e.Code == "" || errors.Is(err, ErrTemporary) && driver.Answered(err) {
			t.Errorf("%q became %#v", text, err)
		}
	})
}
