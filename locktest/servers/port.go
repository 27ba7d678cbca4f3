package servers

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from lowest on, this many. All common systems give ports from 32768 or 49152 on to whoever asks for any. A port
// 10,000 higher, which a node of a Redis Cluster needs too, is below that and not among these.
const (
	lowestPort = 11_000
	manyPorts  = 10_000
)

// freePort returns a port of 127.0.0.1 that nobody listens on.
func freePort() (int, error) {
	var last error
	for range 100 {
		port := lowestPort + rand.IntN(manyPorts)
		listener, err := net.Listen("tcp", address(port))
		if err == nil {
			return port, listener.Close()
		}
		last = err
	}
	return 0, fmt.Errorf("no free port was found on 127.0.0.1: %w", last)
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
