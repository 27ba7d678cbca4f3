// Package endtoend_test drives the whole program as its users do: real processes, a real shell on a pseudo-terminal, real signals
// and kills. Its tests know what the program promises and nothing of how it is made. They run on Linux.
//
// # The rig
//
//   - A world is one test's: a home, a store, a PATH, and a mark in the environment by which all processes of the test are found
//     again. When the test ends nothing of it may be left; what is, is killed, and the test fails.
//   - holdfast and actor are names of the test binary itself in the world's PATH: main_test.go looks at how it was called. The
//     store with TTLs is a server in the test process.
//   - An actor is a command to be run under a lock. It writes what it sees (signals, lines, that it lives) into a journal, each
//     line with the time of CLOCK_BOOTTIME, so that "dead before another began" is measured and not guessed.
//   - A terminal is a pseudo-terminal with an interactive bash on it. Tests type, and wait for what they expect to see.
//
// What goes wrong at unlucky moments only is tried fifty times; thousands of times with
//
//	go test ./internal/endtoend -run Kill -v -rounds 5000
//
// Nothing sleeps for a while and hopes: tests wait for conditions, for half a minute if need be, and print what they saw instead.
package endtoend_test
