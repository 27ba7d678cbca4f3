package redlock

import (
	"errors"
	"fmt"
	"strings"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
	"holdfast.dev/redislock/internal/redisconn"
)

// What is wrong with the nodes of a store. Each comes inside a *driver.NodeError, or a *[NodesError].
var (
	// ErrSameServer: two of the nodes are one server. A majority of its votes is none.
	ErrSameServer = errors.New("two of the nodes are the same server")

	// ErrClocks: the clocks of the nodes differ by so much that no token can be trusted to rise.
	ErrClocks = errors.New("the clocks of the nodes differ by more than half of the guard; set them by NTP")

	ErrCluster   = redisconn.ErrCluster   // the node is part of a cluster, whose masters are not independent
	ErrReadOnly  = redisconn.ErrReadOnly  // the node is a replica
	ErrAuth      = redisconn.ErrAuth      // wrong user or password, or none where one is needed
	ErrKeyType   = redisconn.ErrKeyType   // another program uses the lock's key for something else
	ErrFunctions = redisconn.ErrFunctions // the node has no functions, and others do
	ErrFormat    = guard.ErrFormat        // a program of another age has set the node up
)

type (
	// A GuardError says that this client asks for another guard than the one that a node was set up with.
	GuardError = guard.GuardError

	// A ListError says that this client has another list of nodes than the one that a node was set up with.
	ListError = guard.ListError

	// A ServerError is what a server refused.
	ServerError = redisconn.ServerError
)

// A NodesError says what every node said, where no majority could be had. It unwraps to the errors of the nodes that failed, each a
// *driver.NodeError.
type NodesError struct {
	Need  int
	Nodes []NodeState
}

// A NodeState is what one node said.
type NodeState struct {
	Node string // without secrets
	Says string // "granted", "held by …", "guarded for another 12s", "no answer within 50ms"; else the text of Err
	Err  error  // nil: it has answered
	yes  bool
}

func (e *NodesError) Error() string {
	if len(e.Nodes) == 1 {
		return e.Nodes[0].Node + ": " + e.Nodes[0].Says
	}
	var yes int
	var each []string
	for _, n := range e.Nodes {
		if n.yes {
			yes++
		}
		each = append(each, n.Node+": "+n.Says)
	}
	return fmt.Sprintf("%d of %d nodes said yes, %d are needed (%s)", yes, len(e.Nodes), e.Need, strings.Join(each, "; "))
}

// Unwrap returns the errors of the nodes that have failed.
func (e *NodesError) Unwrap() (all []error) {
	for _, n := range e.Nodes {
		if n.Err != nil {
			all = append(all, &driver.NodeError{Node: n.Node, Err: n.Err})
		}
	}
	return all
}
