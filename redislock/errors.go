package redislock

import (
	"errors"

	"holdfast.dev/redislock/internal/guard"
	"holdfast.dev/redislock/internal/redisconn"
)

// What a server can refuse. Each comes wrapped in a *driver.Refused: it is the server's decision, and final. errors.As finds the
// *ServerError, which has the server's own code.
var (
	ErrAuth        = redisconn.ErrAuth        // wrong user or password, or none where one is needed
	ErrPermission  = redisconn.ErrPermission  // the user may not do that
	ErrReadOnly    = redisconn.ErrReadOnly    // the server is a replica
	ErrMemory      = redisconn.ErrMemory      // the server is out of memory
	ErrPersistence = redisconn.ErrPersistence // the server cannot save, and so refuses to write
	ErrReplicas    = redisconn.ErrReplicas    // too few replicas are in contact
	ErrKeyType     = redisconn.ErrKeyType     // another program uses a key of ours for something else
	ErrDatabase    = redisconn.ErrDatabase    // there is no such database
	ErrFunctions   = redisconn.ErrFunctions   // the server is older than Redis 7.0, or forbids functions
	ErrCluster     = redisconn.ErrCluster     // the server is a node of a cluster
	ErrProtocol    = redisconn.ErrProtocol    // what answers is no Redis, or speaks TLS where we do not, or the other way round
	ErrReplaced    = redisconn.ErrReplaced    // somebody has put something else in the place of our function library
	ErrSentinel    = redisconn.ErrSentinel    // the Sentinels know no primary of that name, or are no Sentinels

	// ErrFormat: the store was set up by a program of another age, whose keys this one does not understand.
	ErrFormat = guard.ErrFormat

	// ErrQueueFull: as many wait for this lock as a lock can have waiters.
	ErrQueueFull = errors.New("too many wait for this lock already (20,000): ask again later, or divide the work over several locks")
)

// A ServerError is what a server refused.
type ServerError = redisconn.ServerError

// A GuardError says that this client asks for another guard than the one that the store was set up with. All clients of a store must
// agree on it.
type GuardError = guard.GuardError

// A ShortGuardError says that the store's guard is too short for a server with replicas: no TTL fits into it.
type ShortGuardError = guard.ShortGuardError
