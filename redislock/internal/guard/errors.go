package guard

import (
	"errors"
	"fmt"
	"time"
)

// ErrFormat: the store was set up by a program of another age, whose keys this one does not understand.
var ErrFormat = errors.New("the store has another format")

// A GuardError says that this client asks for another guard than the one that the store was set up with. All clients of a store must
// agree on it.
type GuardError struct {
	Asked, Found time.Duration
	Key          string
}

func (e *GuardError) Error() string {
	return fmt.Sprintf("guard=%v is asked for, but the store was set up with guard=%v: all its clients must use the same; "+
		"leave the parameter out to use what is there, or stop all clients, wait for the longer of both, and delete key %q (of a Redlock on every node)", brief(e.Asked), brief(e.Found), e.Key)
}

// A ShortGuardError says that the store's guard is too short for a server with replicas: no TTL fits into it.
type ShortGuardError struct {
	Guard time.Duration
	Fence time.Duration // for so long after a failover nothing is renewed
}

func (e *ShortGuardError) Error() string {
	return fmt.Sprintf("guard=%v is too short for a server with replicas: after a failover nothing is renewed for %v, and the guard must be longer than that "+
		"by the longest TTL; say guard=%v or more in the URLs of all clients, or another prefix if the store was set up with it",
		brief(e.Guard), e.Fence, e.Fence+coreTTL)
}

// A ListError says that this client has another list than the one that the store was set up with. All clients of a store must agree on it.
type ListError struct {
	Asked, Found string
	Key          string
}

func (e *ListError) Error() string {
	return fmt.Sprintf("this client's list of nodes is %s, but the store was set up with %s: two lists can have majorities without a common node, so all clients "+
		"must have the same; use the list that is there, or, to change it, stop all clients, wait for the guard, and delete key %q on every node",
		e.Asked, e.Found, e.Key)
}

// brief is how a URL says it: 0, not 0s.
func brief(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return d.String()
}
