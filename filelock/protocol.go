package filelock

// The protocol: how processes that share nothing but a directory agree on who holds what.
//
// # The directory
//
//	DIR/holdfast           the record: marks the directory as ours; where tokens come from
//	DIR/locks/KEY          one file for each lock in use; its flock is the guard of what it says
//	DIR/clients/ID/alive   a pipe that its client keeps open for writing; where there are no pipes, a file that it keeps locked
//	DIR/clients/ID/bell    a pipe that the others write to, to make the client look at a lock
//	DIR/clients/ID/claims  the locks in whose files the client has entries
//	DIR/clients/ID/making  a lock's file that the client is just making
//
// DIR belongs to the user whom the process runs as, and nobody else can write into it; everything in it is made with mode 0600 or
// 0700, no symbolic link is followed, and what is not as we make it is refused with an error that says what to do. KEY is "l-" and
// the encoded name, or "s-" for a semaphore: nothing of a name is ever a path. When all clients are closed, the record and two
// empty directories are left.
//
// # What a lock's file says
//
// Who holds, who waits, in which order, and which tokens are this lock's to give away: as text, in a box (see box.go) that survives
// kill −9 at any instruction, and a full disk. Every operation takes the guard, reads, decides, writes, and lets go: some tens of
// microseconds. Whoever changes it also serves: the new owner and its token are written by whoever made room. The rules of serving
// are those of memlock; they are plain functions on what was read (serve.go). The id of an attempt is a secret and is not in
// the file; a hash of it is.
//
// A process that is stopped (SIGSTOP) while it holds a lock goes on holding it. One that is stopped in those microseconds in which it
// has the guard delays that one lock: the others wait for the guard, for as long as their contexts allow.
//
// # Why pipes, and neither inotify nor a file for each waiter
//
// A system allows 128 users of inotify per user, by default, and 500 processes may wait. A file and a descriptor for each hold would
// be 10,000 descriptors for 10,000 holds. A named pipe has no such limits: whoever reads it is told its end when the last writer
// has ended, however that ended, by the poller that Go has anyway. A client has two pipes, and one descriptor for each other
// client that it has to watch.
//
// # Waiting
//
// Who waits watches (plan.go) the client of the one before it in the queue; the head of the queue watches those holders that keep
// it from fitting, and sets an alarm for the end of a minimum hold. Nobody watches anybody else. Whoever changes the state rings
// the bells of those that were granted the lock or were broken, of those that now have something to watch that they did not
// watch before, and of the head of the queue if it fits and there was no token for it: it must try by itself. In a queue for a mutex
// a hand-over rings one bell. Who hears its bell, or sees a client that it watches end, looks at the file; and if it cannot, it looks
// again, after pauses that grow up to 50 ms while it waits and up to 5 s otherwise, as long as anything of its own may be in there.
//
// Every change, whatever it is, ends with serving: there is never a state on the disk in which the head fits, unless tokens lack.
//
// While polling (elsewhere than on Linux, on file systems without pipes, with ?wait=poll) a client looks at the file again and
// again, with growing pauses of up to 50 ms, and asks each time whether those that it would watch are alive. What is only held is
// looked at each second, for a hold may be broken; with more than 64 such locks in rounds of ten seconds, so that a Break is seen
// within twenty.
//
// # Races
//
//   - Killed between bell and write. Bells are rung first, then the state is written, both under the guard. Who was rung waits for
//     the guard. If the ringer is killed before it has written, the guard falls, nothing has changed, and whatever it meant to do
//     is still due to somebody: a holder that was about to release has ended, and the head watches it; a waiter that was about to
//     take out a dead one has ended itself, and the one behind watches it. If it is killed after it has written, everybody concerned
//     was rung.
//   - Killed while it writes. The header in use changes last: the old state stays.
//   - Died before it was watched. Watching begins with looking: the pipe of a dead client has ended when it is opened.
//   - Closed before it was watched. A client takes its entries out before it removes its directory. So under the guard an entry
//     means that the directory is there; without the guard a missing one means: look again. Under the guard a missing directory
//     means that somebody has removed it; then nobody can tell whether its client lives, and the request is refused.
//   - Bell not rung, for want of a descriptor. Then the state is not written, and the change fails: whoever made it tries again, and
//     nobody is granted a lock without being told.
//   - Entry left behind. A waiter may be refused because its file is, and so its entry cannot be taken out. Its client goes on trying,
//     and keeps its claim until it is out. What a file says of a client is compared with what the client knows before anything else
//     is done, so an entry that nobody knows is never served by its own client.
//   - Bell full. The ringer does not wait. Whoever reads so many rings at once looks at all its locks, and needs the guard that the
//     ringer has.
//   - Two make the file. Each makes one of its own, complete, and gives it the lock's name; that works for one of them, and the
//     other uses what is there. So no file of ours is ever blank: one that is was put there by somebody else, and is refused.
//   - Killed while it makes the file. Before the file has the lock's name: it is in its maker's own directory, and goes with that.
//     After: it is fresh (see make.go), and whoever gets its guard first does what its maker would have done. In between it has two
//     names, and whoever gets its guard removes the other one.
//   - Removed while somebody waits for the guard. A file without entries is removed under its guard only. Whoever gets the guard of
//     a file that the path does not lead to any more begins anew.
//   - Removed by hand while it is held. Whoever makes a lock's file anew first looks at the claims of all clients. A claim to hold is
//     written before its holder is told, and the holder looks once more whether the file is still there before it believes its
//     grant: of the two, at least one sees the other. While somebody holds, nobody makes the file anew; when it releases, those who
//     waited in the removed file are told, and queue anew.
//   - Slow to die. The kernel closes the files of a killed process one after the other, and may let go of a guard long before the
//     pipe that tells whether its client lives. Such a client looks like one that lives and works on nothing. What it has in the file
//     stays until it is dead; if it has nothing there, it has no claim to hold either, for that comes after the entry that holds and
//     goes before it (see commit). So nobody takes it for one whose file was removed by hand.
//   - Cleared away while it is asked about. A client that held when it was killed leaves its claim; others take its entry out, use the
//     lock, and remove the file. Whoever makes that anew finds the claim, and then perhaps no client, because a sweep has just removed
//     it. A sweep removes the claims first, so they are read again before it is taken for one of whom nobody can tell whether it lives.
//   - Granted while it gives up. Whoever gives up looks once more, to tell who is in the way (conclude.go), and may find itself: its
//     bell has rung, so the decision is on its way, and is waited for a moment. Otherwise it is released, as if it still waited.
//   - A client without files. One that goes removes its files, then its directory. If it is killed in between, or if somebody removes
//     the files of a living one, what is left looks the same: so it is taken out of no lock, and its directory is removed only when
//     it has no entry in any.
//   - Half made client. Clients come under the flock of the record, and whoever lists the dead has it too.
//   - Guard and record. Who has a guard may wait for the record; who has the record never waits for a guard that a living client
//     could have.
//
// # Copies of alive
//
// Files hands out copies of a client's open file alive, which may be given to other processes. A pipe has no end, and a file keeps its
// flock, until the last copy is closed: so to the others a client that was killed looks like one that is stopped. It is watched and
// probed as before, swept by nobody, and counts as living when the directory is opened. Nobody hears its bell; one without a reader is
// no error for whoever rings it. When it waits, its turn comes, and the lock is its own: those behind it watch it in any case. Its ghost,
// after a Break with Now, stays in the file until it is dead. When the last copy is closed it is dead, as after any kill.
//
// A client that closes has taken its entries out before it closes alive, and removes its directory then. Copies of that file, which
// has no name any more, mean nothing to anybody. If it could not take all its entries out, its directory stays, and so do they, until
// the copies are closed; then the next one that waits, or opens the directory, takes them out.
//
// # Tokens
//
// One sequence for the whole directory. A lock takes 64 at a time from the record and keeps them in its file, so a lock's file that
// is removed never makes tokens fall. The record has a ceiling that was synced to the disk before any token below it is given: after a
// restart of the machine (another boot id) tokens begin there. Where nobody can tell a restart, each block of 64 is synced. What a
// lock's file has left of its 64 is given up after a restart: the file may be older than the tokens that were given.
//
// # A restart of the machine
//
// All processes have ended, so nobody holds or waits: the first client that opens the directory clears it. Only minimum holds
// stay (Request.Keep): a grant with one is synced, with the wall time of its end, and it is kept until then, but never for longer
// than it was long. While one runs, every change of that lock's file is synced too: a text goes where the last but one was, and a
// power failure could otherwise tear both. That costs one sync for each Lock, Unlock or waiter of a lock with a minimum hold, and
// nothing for the others.
//
// # Time
//
// Times in files are of CLOCK_BOOTTIME on Linux, which all processes share and nobody can set, less what a time namespace adds to it;
// elsewhere, on network file systems, and where /proc is missing, wall time. A file names the clock that it was written by. Whoever
// has another one counts what is in it by the wall clock; then a minimum hold is never longer than it was to be, but it is shorter
// if the wall clock is set forward meanwhile.
