package redisconn

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fake is a Sentinel that says what a test wants.
type fake struct {
	address string

	mu       sync.Mutex
	place    place    // of the primary
	master   string   // the address in SENTINEL MASTER, if that is another
	replicas []string // of SENTINEL REPLICAS: host, port and run_id, separated by commas
	declines string   // to everything
	silent   bool
	asked    int
}

func newFake(t *testing.T, primary string, epoch uint64) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{address: l.Addr().String(), place: place{primary, epoch}}
	var all sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			all.Go(func() { f.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return f
}

func (f *fake) serve(c net.Conn) {
	defer c.Close()
	for r := bufio.NewReader(c); ; {
		request, err := readValue(r, maxDepth)
		if err != nil {
			return
		}
		words := fmt.Sprint(request)
		if answer := f.answer(strings.ToUpper(words)); answer != "" {
			c.Write([]byte(answer))
		}
	}
}

func (f *fake) answer(request string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	host, port, _ := net.SplitHostPort(f.place.told)
	switch {
	case f.silent:
		return ""
	case f.declines != "":
		return "-" + f.declines + "\r\n"
	case strings.Contains(request, "AUTH"):
		return "+OK\r\n"
	case strings.Contains(request, "GET-MASTER"):
		return array(host, port)
	}
	if strings.Contains(request, "REPLICAS") {
		all := fmt.Sprintf("*%d\r\n", len(f.replicas))
		for _, r := range f.replicas {
			part := strings.Split(r, ",")
			all += array("ip", part[0], "port", part[1], "runid", part[2])
		}
		return all
	}
	f.asked++
	if f.master != "" {
		host, port, _ = net.SplitHostPort(f.master)
	}
	return array("name", "m", "ip", host, "port", port, "config-epoch", fmt.Sprint(f.place.epoch))
}

func (f *fake) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
}

func (f *fake) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func array(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	return b.String()
}

// fakes are Sentinels that name primaries, each with its epoch.
func fakes(t *testing.T, places ...place) (all []*fake, hosts string) {
	var addresses []string
	for _, p := range places {
		f := newFake(t, p.told, p.epoch)
		all, addresses = append(all, f), append(addresses, f.address)
	}
	return all, strings.Join(addresses, ",")
}

// find asks them as a client of that URL would.
func find(t *testing.T, url string, known place) (place, time.Duration, error) {
	t.Helper()
	o := options(t, url)
	begin := time.Now()
	at, err := o.sentinels.find(within(t, patience), &o, known)
	return at, time.Since(begin), err
}
