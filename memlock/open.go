package memlock

import (
	"context"
	"strings"
	"sync"

	"holdfast.dev/driver"
)

func init() { driver.Register("mem", Open) }

// named are the servers of mem://NAME that have a client, by NAME.
var named struct {
	sync.Mutex
	servers map[string]*shared

	// token is the greatest one that any of those which have ended has given away. The next ones begin above it, so that tokens
	// rise for every NAME; one number for all, so that a NAME that is used no longer leaves nothing behind.
	token uint64
}

type shared struct {
	server  *Server
	clients int
}

// Open is the driver.Opener of mem:// (a new server each time) and mem://NAME (one server for each NAME and process).
func Open(ctx context.Context, u *driver.URL) (driver.Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := u.Check(); err != nil {
		return nil, err
	}
	bad := func(problem string) (driver.Store, error) {
		return nil, &driver.URLError{Scheme: u.Scheme, Problem: problem + "; write mem:// or mem://NAME"}
	}
	switch {
	case u.User != "" || !u.Password.Empty():
		return bad("memory has no users and no passwords")
	case u.Path != "":
		return bad("memory has no paths")
	case len(u.Hosts) > 1:
		return bad("a store in memory has one name")
	case len(u.Hosts) == 0:
		return New(), nil
	case strings.ContainsAny(u.Hosts[0], ":[]"):
		return bad("what follows mem:// is a name and not an address, so it has no port")
	}
	return openNamed(u.Hosts[0]), nil
}

func openNamed(name string) *Store {
	named.Lock()
	defer named.Unlock()
	if named.servers == nil {
		named.servers = make(map[string]*shared)
	}
	n := named.servers[name]
	if n == nil {
		n = &shared{server: NewServer()}
		n.server.name = name
		n.server.token = named.token
		named.servers[name] = n
	}
	n.clients++
	st := n.server.Connect()
	st.leave = func() { closeNamed(st, n) }
	return st
}

// closeNamed ends a connection, and the server with its last one. A server without connections grants nothing more, so its last
// token is final.
func closeNamed(st *Store, n *shared) {
	if !st.disconnect() { // not under the mutex: it may call somebody's Lost
		return
	}
	named.Lock()
	defer named.Unlock()
	if n.clients--; n.clients == 0 {
		delete(named.servers, n.server.name)
		named.token = max(named.token, n.server.lastToken())
	}
}
