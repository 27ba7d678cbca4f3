package driver

import (
	"context"
	"time"
)

// A Store is an open connection to the place where locks live. All methods may be called from many goroutines at once. Whatever gets
// a context returns soon after it has ended, also while the server hangs; and a request to a server that does not answer is given
// up after a time of the driver's own, as unknown: only a driver can tell a server that is slow from a connection that is dead.
//
// A store of whatever kind also decides, in its own documentation, how names become keys: injectively (see [Encoding]), so that
// different names are different locks.
type Store interface {
	// Acquire asks for r and waits its turn, first come first served where the store can, unless r.NoWait.
	//
	//  A1. Idempotent by r.Attempt: repeated for an attempt that waits or holds, it goes on with that one: the same place in the
	//      queue, the same token, its TTL begun anew. The core repeats it, with back-off, after an unknown answer for as long as
	//      ctx lives; two calls for one attempt may also overlap, and all get the answer. An attempt that comes back with another
	//      mode or N is ErrRequest; one whose hold was broken keeps it as it is, not renewed.
	//  A2. Two attempts are two owners, also on one connection, session or lease.
	//  A3. An error is an answer ([Answered]: the attempt neither waits nor holds, nothing is to be undone) or unknown: the
	//      core then repeats, or calls Release.
	//  A4. When ctx ends it returns at once, with an error that carries ctx.Err() (else it would count as an answer) and, if
	//      known, *[Held], and cleans nothing up; with a context that has ended before it asks for nothing. A grant already in
	//      hand is returned, also one that has run out meanwhile: its Asked and TTL tell.
	//  A5. With r.NoWait it never waits for another holder: *[Held] or *[Guarded], and nothing is queued.
	//  A6. The waiting that it does is cheap: no goroutine, connection or query per second for each waiter, where the store can.
	//      A waiter has no Lease: whatever keeps its place, a session for instance, the driver keeps alive meanwhile.
	//  A7. A mode, a Keep or a Reserve that Guarantees denies is ErrUnsupported; a malformed request ([Request.Check]) is refused
	//      before the store is touched.
	Acquire(ctx context.Context, r *Request) (*Grant, error)

	// Release makes sure that r's attempt neither waits nor holds: nil (it did), ErrGone (it did not), or unknown: the core
	// repeats, until Close or, with leases, until r.TTL has certainly run out.
	//
	//  R1. It needs no Grant, may run beside an Acquire of the same attempt (which then answers ErrGone, and sends nothing more
	//      for it: a confirmation after the Release would hold again), and never gets the caller's context.
	//  R2. An Acquire still on its way, the first or a repetition, may then not hold for longer than r.TTL (a tombstone, or its
	//      TTL); a store without TTLs ends the session or connection which that request went out on. Where Release finds
	//      nothing a tombstone is worth having: the lock is then not taken by nobody, not even for a TTL.
	//  R3. It frees nothing but r's own attempt.
	//  R4. A hold that was granted with Keep stays taken, by nobody, until its time is over, if r.Keep is set; if r.Keep is zero
	//      the attempt is undone as though it had never been granted: nobody ran under it.
	Release(ctx context.Context, r *Request) error

	// Guarantees says what this store promises as it is deployed, as found now. An error means that it could not be found out.
	Guarantees(ctx context.Context) (Guarantees, error)

	// Clock is the clock by which the validity of this store's grants is counted: [Boot], or [Local] for a store inside this
	// process. It never changes.
	Clock() Clock

	// String names the store for people. It contains no secret.
	String() string

	// Identity is the same for every client of this store, whatever its URL, and differs between stores: locks of several
	// stores are taken in its order.
	Identity(ctx context.Context) (string, error)

	// Close ends sessions and connections; the core has released before. Calls under way, and all later ones, return ErrClosed. It
	// does not wait for a server.
	Close() error
}

// Mode is what a Request asks for.
type Mode uint8

const (
	Exclusive Mode = iota + 1 // nobody beside it
	Shared                    // any number of Shared holds together, no Exclusive one
	Permits                   // N of Limit permits; a name space of its own: the semaphore "x" and the lock "x" are strangers
)

func (m Mode) String() string {
	switch m {
	case Exclusive:
		return "exclusive"
	case Shared:
		return "shared"
	case Permits:
		return "permits"
	}
	return "unknown mode"
}

// A Request describes one attempt. The core passes the same one, or an equal one, to every call about that attempt; a driver
// does not change it and does not keep it after its Release.
type Request struct {
	Name    string  // as CheckName allows
	Attempt Attempt // secret
	Label   string  // for people: host:pid and the user's text
	Mode    Mode
	N       int // Permits: how many, 1 to Limit
	Limit   int // Permits: of how many; the same for everybody who uses the name, else *LimitError

	TTL    time.Duration // a wish; Grant.TTL is the fact
	NoWait bool

	// Keep, only with Guarantees.Keep: counted from the grant the lock stays taken, by nobody after a release or the holder's
	// end, for at least this long. It is written with the grant, so that a crash does not skip it.
	Keep time.Duration

	// Reserve, only with Guarantees.Reserve, is how many further tokens are wished for. See Grant.Spare.
	Reserve uint32

	// Waiting, if not nil, is told once when a call of Acquire begins to wait, and again whenever the driver learns more, at most
	// about once a second. It never blocks, and is not called any more once Acquire has returned.
	Waiting func(Progress)

	// Lost, if not nil, is called at most once, perhaps before Acquire returns, when the driver learns by itself that the hold
	// has ended or must end: ErrGone, ErrSession, or *Broken. It never blocks. A driver that cannot learn it does not call it:
	// the next renewal will tell.
	Lost func(error)
}

// Check reports what is malformed in r, as an answer: ErrName, or an error that is ErrRequest. Drivers call it first.
func (r *Request) Check() error {
	if err := CheckName(r.Name); err != nil {
		return err
	}
	switch {
	case r.Mode < Exclusive || r.Mode > Permits:
		return requestError("its mode is not Exclusive, Shared or Permits")
	case r.Attempt == Attempt{}:
		return requestError("it has no attempt id")
	case r.TTL <= 0:
		return requestError("its TTL is not positive")
	case r.Keep < 0:
		return requestError("its Keep is negative")
	case r.Mode == Permits && (r.N < 1 || r.Limit < 1 || r.N > r.Limit):
		return &LimitError{N: r.N, Want: r.Limit}
	case r.Mode != Permits && (r.N != 0 || r.Limit != 0):
		return requestError("N and Limit are for Permits only")
	}
	return nil
}

// Progress tells a waiter how things stand.
type Progress struct {
	Place   int           // 1: the next; 0: not known
	Holders []Holder      // who has it, as far as known
	Guard   time.Duration // > 0: the store grants nothing for so long, whoever holds
	Why     string        // for people, why nothing is granted: with Guard "this Redis started 2s ago", else what the store lacks
}

// A Grant is the store's word that an attempt holds.
type Grant struct {
	// Token is greater than that of every earlier grant of the name, as far as Guarantees.Fencing says. Shared grants that
	// overlap share one, the generation, which is greater than that of every earlier writer and less than that of every later
	// one; a generation that was broken gets no further readers. Token+1 … Token+Spare belong to this grant too, and are never
	// granted to anybody else.
	Token, Spare uint64

	// Asked is the store's Clock just before the request that was granted went out; after a push, the last moment at which the
	// driver knew that it did not hold; of a driver that confirms, the clock just before the confirming request. Validity is
	// counted from it: never from the answer, which can be old.
	Asked Instant

	// TTL is how long from Asked the store keeps the hold if nobody renews it: never more than it really does.
	TTL time.Duration

	// Lease keeps the hold alive. nil: nothing runs out (a kernel lock); TTL is then ignored.
	Lease Lease
}

// A Lease keeps grants alive: one for each grant, or one for many (etcd lease, ZooKeeper session, connection). It is comparable;
// equal ones are renewed once, at a third of their TTL.
type Lease interface {
	// Renew asks for ttl from now on, and returns what now holds, counted from the moment of the call: ErrGone, ErrSession, or
	// unknown.
	//
	//  L1. It never shortens: what holds may be more than ttl; a session has the TTL that it has. So Renew(ctx, 0) only asks.
	//  L2. It never brings a hold back that has ended: that is ErrGone.
	//  L3. It never reports more than what the store has confirmed. No answer, an answer that cannot be understood, a refusal
	//      for another reason: unknown, and the core goes on counting from the last renewal that was confirmed.
	//  L4. A broken hold (Breaker) is not renewed: *Broken.
	Renew(ctx context.Context, ttl time.Duration) (time.Duration, error)
}
