// Package readme is a test: it runs everything that README.md shows, in a clean copy of the repository, in the order in which a
// newcomer reads it. And it runs the command lines of docs/coming-from.md, and what the pages in docs/stores show.
//
// # The clean copy
//
// The files that git tracks, as they are in the working tree, are copied to a directory of the test's own called holdfast, with an
// empty HOME beside it and an environment of a few variables. What is not tracked is not there. The caches of the go command are the
// caller's, or each run would take minutes. That is still clean: an entry of the build cache is found by a hash over all that went
// into it, and one of the module cache by a version whose check sum is in go.sum. So they can save time, but not stand in for
// anything that the copy lacks.
//
// # Blocks
//
// Every block of code must be one of these, and a block that the test does not know fails it, so that nothing is shown unrun:
//
//	console   "$ " begins a command, and what follows is all that it prints; "…" there stands for anything within a line. The
//	          names of processes (host:123), durations (1.5s) and tokens need only look alike, and spaces only be somewhere. A
//	          command that does not end with code 0 must be followed by "echo $?". "make …" is run as "make -n …": CI runs the
//	          tests themselves.
//	sh        a script; it must end with code 0, and prints whatever it likes
//	go        a program, to be saved
//	crontab   lines whose commands are run as cron runs them: by /bin/sh, with PATH=/usr/bin:/bin, HOME, SHELL and LOGNAME
//
// All run in one terminal, so that a cd or an export counts for what follows. A comment above a block says where it differs:
//
//	<!-- test: file NAME -->         the block is saved under that name, and can be run
//	<!-- test: until Ctrl-D -->      the block's command goes on while those marked "meanwhile" run, and then sees the end of its input
//	<!-- test: meanwhile -->         the block is run in a second terminal, once the first one's command holds a lock; nothing that was
//	                                 exported in the first counts there
//	<!-- test: server -->            the block's command is a server; it goes on until the test ends
//	<!-- test: server PORT… -->      the same, of a script that starts several: it is ready when all these answer
//	<!-- test: with server -->       the block needs that server; where Redis is not installed it is not run
//
// Commands that stand for the reader's own, a report and a deployment, are stand-ins that leave a note that they were run.
package readme
