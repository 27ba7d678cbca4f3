// Package torture does to locks what production does to them, only more often: it stops, kills and cuts off those who use them and the servers
// that keep them, and then proves from what everybody recorded that nobody ever held a lock together with anybody else, that tokens
// only rise, that nothing that was acknowledged is lost, that whoever waits is served, in turn, and that nothing is left behind.
//
// A proof is worth what its checks are worth: so it also runs locks that are broken on purpose, and fails if one of them passes
// ([Controls]).
//
// # A run
//
// A run is a number of rounds, each of some seconds with a store of its own and a seed of its own: see package internal/round. The
// rounds of a run are kept in a bundle, a directory, and can be checked again from there, by anybody ([Check]). A run into a bundle
// that is there goes on with it: rounds add up.
//
// # Faults
//
// Which faults a store survives its driver says, beside its code (Assumptions). Within these there must be no violation. Beyond
// them two may hold a lock for a moment: that is measured and published; but whoever lost it must be told within a renewal interval,
// and a resource behind a fence must lose nothing wherever the store's tokens are durable.
//
// # Worker processes
//
// Workers are processes of their own, so that they can be stopped and killed: the program starts itself again for that. So a
// program that calls Run must ask [Invoked] before anything else.
package torture
