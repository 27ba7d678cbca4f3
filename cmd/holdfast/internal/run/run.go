// Package run runs a command while it holds a lock.
//
// # One run
//
//  1. The command is looked up: nobody should wait an hour to read that it is misspelt.
//  2. The store is opened and the lock waited for. HUP, INT, QUIT and TERM end the wait, and leave nothing in the queue.
//  3. A guard process is started (package guard), then the command (package job).
//  4. While it runs: signals go to its process group; the guard hears of each renewal; a loss ends the command.
//  5. When the last process of its group has ended the guard is dismissed and the lock released.
//
// # Loss
//
// The hold's context ends grace before the hold could be somebody else's, where that is foreseen. The group gets TERM, and KILL
// lead (500 ms, less if the grace is short) before the end; a loss that nobody foresaw gives it grace, a second at most. If this
// program is stopped or hangs meanwhile, the guard does it. Whatever code the command ends with then, the program's is 75.
//
// # Races
//
//   - A signal comes between the grant and the start of the command: it is passed on to the command as soon as that runs.
//   - The command ends while it is being ended: its group is signalled again, which does nothing.
//   - The lock is lost while the command ends: the program says so, because the last of its work may not have been protected.
//   - The program is stopped and continued: the lock is checked before the command goes on, and what came meanwhile counts.
package run
