package locktest

import (
	"holdfast.dev/driver"
)

// needs says what a store must be able to do for a case to apply.
type needs uint32

const (
	tokens     needs = 1 << iota // fencing tokens, of whatever strength
	fifo                         // Guarantees.FIFO
	shared                       // Guarantees.Shared
	permitting                   // Guarantees.Permits
	keep                         // Guarantees.Keep
	reserve                      // Guarantees.Reserve
	inspector                    // driver.Inspector
	breaker                      // driver.Breaker
	keeper                       // driver.Keeper, on this system
	expires                      // a hold that nobody renews runs out
	ownTTL                       // each hold has a TTL of its own: no session, and something runs out
	lasting                      // nothing runs out: a hold ends with its process or connection
	lateness                     // a request can arrive late: it goes over a network, or its hold runs out
	processed                    // other processes can reach the store
	stopping                     // the system can stop a process

	// The opposites: cases that check what is denied.
	noTokens
	noShared
	noPermits
	noKeep
	noReserve
	noInspector
	noBreaker
	noKeeper
)

const denials = noTokens | noShared | noPermits | noKeep | noReserve | noInspector | noBreaker | noKeeper

// missing returns why a case with these needs does not apply, or "".
func (k *kit) missing(n needs) string {
	_, inspects := k.probe.(driver.Inspector)
	_, breaks := k.probe.(driver.Breaker)
	g := k.guarantees
	for _, need := range []struct {
		bit needs
		met bool
		why string
	}{
		{tokens, g.Fencing != driver.FencingNone, "Guarantees denies fencing"},
		{fifo, g.FIFO, "Guarantees denies FIFO"},
		{shared, g.Shared, "Guarantees denies Shared"},
		{permitting, g.Permits, "Guarantees denies Permits"},
		{keep, g.Keep, "Guarantees denies Keep"},
		{reserve, g.Reserve, "Guarantees denies Reserve"},
		{inspector, inspects, "the store is no Inspector"},
		{breaker, breaks, "the store is no Breaker"},
		{keeper, k.keeper, "the store is no Keeper here"},
		{expires, g.MaxTTL > 0 || g.Session > 0, "Guarantees says that nothing runs out (MaxTTL and Session are 0)"},
		{ownTTL, g.MaxTTL > 0 && g.Session == 0, "Guarantees says that holds live as long as a session or a connection"},
		{lasting, g.MaxTTL == 0 && g.Session == 0, "Guarantees says that holds run out (MaxTTL or Session is not 0)"},
		{lateness, g.MaxTTL > 0 && g.Session == 0 || k.h.Link != nil, "requests to it do not travel"},
		{processed, !k.h.InProcess, "Harness.InProcess says that other processes cannot reach the store"},
		{stopping, canStop, "this system cannot stop a process"},
		{noTokens, g.Fencing == driver.FencingNone, "Guarantees promises fencing"},
		{noShared, !g.Shared, "Guarantees promises Shared"},
		{noPermits, !g.Permits, "Guarantees promises Permits"},
		{noKeep, !g.Keep, "Guarantees promises Keep"},
		{noReserve, !g.Reserve, "Guarantees promises Reserve"},
		{noInspector, !inspects, "the store is an Inspector"},
		{noBreaker, !breaks, "the store is a Breaker"},
		{noKeeper, !k.keeper, "the store is a Keeper"},
	} {
		if n&need.bit != 0 && !need.met {
			return need.why
		}
	}
	return ""
}
