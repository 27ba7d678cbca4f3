// Package guard ends a command's processes when the program that should do so no longer can: it was killed, it is stopped, it hangs.
//
// The program starts a guard before the command: the same executable again, in a session of its own, so that neither a terminal nor
// a signal to the program's group reaches it; with nothing of the program's environment but the names of runs, its output going nowhere;
// with one end of a line, a pair of sockets, as its input. It costs a process that sleeps.
//
// # What the program says
//
//	keep FILES  have these open until you end: copies of the files that keep the program's holds (driver.Keeper)
//	begin ID    a command is about to be started, with ID in its HOLDFAST_RUN
//	watch G     it runs, and its process group is G
//	until T     the hold is good until T, on a clock that does not stand still while the machine is suspended; the last one counts
//	leave       nothing of the command runs any more
//	pause P     the command is stopped, and so will be the program, which is process P
//	resume      the program goes on
//
// # What the guard does
//
// It acts once: when T has come, or when the line has ended, because the program has. After leave it just ends. Otherwise it kills the
// command with everything that belongs to it (group.Kin), again and again until nothing of that runs, and ends; with it end the copies
// of the files, and so the hold on a store where holds end with their process. So nobody else can get the lock before the last process
// of the command is gone, even though the program that held it is.
//
// After pause it looks now and then whether the command is still stopped. Somebody who stopped only the command, and continued or killed
// it, does not know that the program must be continued too: the guard does that.
//
// # Races
//
//   - The program is killed, or stopped for too long, between the start of the command and watch. What was started is found by its
//     mark, ID in HOLDFAST_RUN: the command, or, as that dies with the program (parent-death signal), what it has started in those
//     microseconds. A process that is just being replaced by another program shows no environment: it is looked at again.
//   - The guard was stopped, and goes on after T: it reads what the program said meanwhile before it looks at the clock.
//   - The program is stopped between reading its clock and saying until: T is an instant, not a duration, so a late one does no harm.
//   - The guard is killed: the program sees it, and starts another. The program is killed while there is none: the parent-death signal
//     is left, and what the command started survives. Whoever kills both within a few milliseconds wins.
//   - The command is a run itself, whose command has a group of its own. It has the marks of both runs, so it is killed too; but not
//     the inner guard, which keeps the inner lock until that is done.
//   - The line is full because the guard is stopped for long: the program replaces it.
//   - The program is killed while it waits for the lock: a guard that was started early has neither files nor a group, and just ends.
//   - The group's number is used again: it cannot be while a process of the group exists, and leave follows its end.
//   - The command goes on between pause and the program's stop: the guard continues the program until it says resume.
package guard

import "holdfast.dev/cmd/holdfast/internal/group"

// Invoked reports whether the arguments are those of a guard process.
func Invoked(args []string) bool { return len(args) > 0 && args[0] == name }

const name = group.GuardName
