// Package interop proves that locks of holdfast.dev/redislock/redlock and those of other libraries on the same servers exclude each
// other: it has tests alone. Every test runs on real servers, one and three of them, with real peers in processes of their own: see
// [holdfast.dev/interop/peers] for which, and [holdfast.dev/interop/internal/line] for how they are driven.
//
//	make interop        all peers; it installs the npm packages
//	go test ./interop   the peers in Go
//
// HOLDFAST_INTEROP is the directory of the npm packages, and says that the peers in other languages are wanted. One that is not installed
// is skipped, or with HOLDFAST_TEST_REQUIRE=all a failure.
//
// # How time is judged
//
// A lock whose holder was killed must be free at the end of its TTL, and not before. When that is, the servers say: a majority of the
// nodes must be free, so the earliest moment is that at which the last of the first majority runs out (fleet.freeAt). Nobody may have it
// earlier; later is no failure, because the machine may be busy. For the same reason a holder that the machine kept from renewing in time
// is no failure, if it knows that it has lost its lock: then the test is done again, a few times.
package interop
