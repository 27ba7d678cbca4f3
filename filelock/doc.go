// Package filelock keeps locks in a directory of this machine: the store file:///path/to/directory.
//
// It is for processes of one user on one machine, with nothing installed. A hold ends with its process, kill −9 included, because
// the kernel sees to it; nothing runs out, and nothing is renewed. Waiters are served first come first served, and the next one is
// woken by whoever makes room; nobody polls, on Linux.
//
//	locks, err := holdfast.Open(ctx, "file:///var/lib/billing/locks") // import _ "holdfast.dev/filelock"
//
// # The URL
//
// The path is absolute, and percent-encoded: file:///var/lib/my%20shop, on Windows file:///C:/locks. [URL] makes it of any path, a
// relative one too. Open makes the directory, and those above it that are missing, for this user alone (mode 0700). Every
// process that names the same directory, whatever the path to it, uses the same locks.
//
//   - ?network=allow accepts a network file system, which is refused otherwise: see [AllowNetwork].
//   - ?wait=poll makes waiters poll on Linux too: see [Polling].
//
// # What is promised
//
// Exclusive and shared locks, permits, minimum holds, inspection, break. Tokens rise for ever, across restarts of processes and of the
// machine (on tmpfs until the machine restarts). [Store.Guarantees] says it for the directory as it is.
//
// # Time
//
// Nothing runs out here. The TTL of a lock means nothing: a hold is its process's until that releases it or ends, however that ends.
//
//   - Fixed and MaxHold are kept by the holder's own process: when the time is over it ends the contexts of its hold and lets go of the
//     lock. If it is stopped, nobody does that for it.
//   - A minimum hold (MinHold) is written down with the grant, and survives the process and a restart of the machine.
//   - The holder of a hold that was broken is told at once (while polling: within about a second, or twenty if it holds more than 64
//     locks), and the lock is freed when it unlocks it or ends; if it does neither, break the hold with Now, which frees the lock
//     whatever its holder does, and leaves the rest to the fence.
//   - A process that is stopped (Ctrl-Z, SIGSTOP, a debugger) keeps its locks until it goes on or is killed. So does one that was
//     stopped while it waited: its turn comes all the same, and the lock is its own from then on. Kill it, or break the hold with Now.
//   - A process that is stopped in the few microseconds in which it works on a lock's file delays that one lock: the others wait, for
//     as long as their contexts allow. If it is the record's file, which every lock asks for new tokens now and then, it delays those
//     that need some, and those who open the directory.
//   - A child process does not keep its parent's locks: they end with the parent, while the child may still be at work. A program
//     whose work is done by children gives the files of its client ([Store.Files]) to one of them that ends the others should the
//     program be killed: the locks are then free when that one has ended. (Not on Windows.)
//
// # What is refused
//
// The directory belongs to the user whom the process runs as, and nobody else can write into it. Refused, with a *driver.Refused
// that says what to do: a directory of another user, or one that others can write into; one with files in it that are not ours; a
// symbolic link; a network file system; files in it that were linked, renamed or replaced, or that others can open; a path that is
// not absolute. Nothing is written into what is refused.
//
// # What is left behind
//
// When all clients are closed: the record (8 kB) and two empty directories. Keep them: that is where tokens go on from. What a
// process that was killed leaves behind is cleared by the others, or by the next one that opens the directory. When nobody uses it
// the directory may be removed; its tokens then begin at 1 again.
package filelock
