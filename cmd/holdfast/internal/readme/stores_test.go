//go:build unix

package readme

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
)

// The port of the server that pages start. The test has another in its place. See morePorts for those of further ones.
const shownPort = "6390"

// Rule: what docs/stores/redis.md tells to type works as it says, on a server that is started as it says; and its Go stands in the examples
// of the driver, which are compiled.
func TestRedisPage(t *testing.T) {
	t.Parallel()
	followPage(t, "docs/stores/redis.md", "redislock/example_test.go")
}

// Rule: the same for docs/stores/redlock.md.
func TestRedlockPage(t *testing.T) {
	t.Parallel()
	followPage(t, "docs/stores/redlock.md", "redislock/redlock/example_test.go")
}

// followPage does what the page of a store says, in the order in which it says it, and looks for its Go in a file of examples.
func followPage(t *testing.T, page, examples string) {
	t.Helper()
	h := newHouse(t)
	port := portForRedis(t)
	text, err := os.ReadFile(filepath.Join(h.repository, page))
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := os.ReadFile(filepath.Join(h.repository, examples))
	if err != nil {
		t.Fatal(err)
	}
	all, err := blocks(strings.ReplaceAll(withFreePorts(t, string(text)), shownPort, port))
	if err != nil {
		t.Fatal(err)
	}
	if port == shownPort {
		t.Skip("redis-server is not installed: on Debian, apt-get install redis-server")
	}
	r := newReader(t, h, page, port)
	if output := r.first.run(t, `CGO_ENABLED=0 go build -o ~/bin/ ./cmd/holdfast && export PATH=~/bin:$PATH`); r.first.code != 0 {
		t.Fatal(output)
	}
	for _, b := range all {
		switch {
		case b.language == "mermaid":
		case b.language == "go":
			if !strings.Contains(string(compiled), indented(b.text)) {
				t.Errorf("%s:%d: this Go is not in %s:\n%s", page, b.line, examples, b.text)
			}
			r.ran["go"]++
		default:
			r.read(b)
		}
	}
	r.interrupt()
	if r.ran["console"] < 6 || r.ran["go"] < 2 {
		t.Errorf("only these were found: %v", r.ran)
	}
}

// indented is a piece of Go as it stands in a function.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("\t" + line)
	}
	return b.String()
}

// portForRedis is where the server of a page can be started; shownPort where Redis is not installed, and need not be.
func portForRedis(t *testing.T) string {
	t.Helper()
	server, err := servers.StartRedis(t.Context())
	if errors.Is(err, servers.ErrMissing) && os.Getenv("HOLDFAST_TEST_REQUIRE") != "all" {
		return shownPort
	}
	servers.Need(t, err)
	defer server.Close() // its port was free, and is again
	return strconv.Itoa(server.Port())
}

// morePorts are those of further servers, Sentinels too.
var morePorts = regexp.MustCompile(`\b(639[1-9]|2639\d)\b`)

// withFreePorts has a port that is free in place of each of morePorts.
func withFreePorts(t *testing.T, text string) string {
	t.Helper()
	free := make(map[string]string)
	var all []net.Listener // until every port is found, so that none is found twice
	defer func() {
		for _, l := range all {
			l.Close()
		}
	}()
	return morePorts.ReplaceAllStringFunc(text, func(shown string) string {
		if free[shown] == "" {
			l := listenSomewhere(t)
			all = append(all, l)
			_, free[shown], _ = net.SplitHostPort(l.Addr().String())
		}
		return free[shown]
	})
}

// listenSomewhere listens at a port below those that systems give to whoever asks for any: nobody gets it by chance between the test and the
// server, which would then not start.
func listenSomewhere(t *testing.T) net.Listener {
	t.Helper()
	const lowest, many, tries = 10000, 20000, 100
	var last error
	for range tries {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(many))))
		if err == nil {
			return l
		}
		last = err
	}
	t.Fatal(last)
	return nil
}

// serve starts the server of a block, in a terminal of its own, and waits until it answers, at all ports that the mark names. It is killed
// when the test ends.
func (r *reader) serve(b block) {
	r.t.Helper()
	command, ports := "cd ~/tmp && exec ", []string{r.port} // what it leaves there nobody sees
	if more := strings.Fields(b.mark)[1:]; len(more) > 0 {
		command, ports = "exec ", more // it is a script that was saved before
	}
	all, err := steps(b.text)
	if err != nil || len(all) != 1 {
		r.t.Fatalf("%s:%d: %d commands, %v; want one", r.page, b.line, len(all), err)
	}
	if r.port == shownPort {
		return
	}
	term := newTerminal(r.t, r.house)
	server := term.begin(r.t, command+all[0].command)
	look := newTerminal(r.t, r.house)
	for _, port := range ports {
		for look.run(r.t, "redis-cli -p "+port+" ping") != "PONG\n" {
			if !server.runs() {
				r.t.Fatalf("%s:%d: %sended:\n%s", r.page, b.line, all[0].command, server.finish(r.t))
			}
			time.Sleep(time.Millisecond)
		}
	}
	r.served = true
}
