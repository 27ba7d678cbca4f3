package program

const runLong = `Run takes the lock NAME, runs the command, and lets go of the lock when the
command has ended. While somebody else holds it, run waits, first come first
served where the store can.

The command stands behind --. No shell reads it, unless it is given with -c.
Standard input, output and error are its own. With several names all locks are
taken together, or none. Names are 1 to 512 bytes, without control characters.

What the command sees:
  HOLDFAST_NAME    the names of the locks, one per line
  HOLDFAST_TOKEN   their fencing tokens, one per line: numbers that grow with
                   every holder. Let whatever the command writes to refuse a
                   token smaller than one it has seen, and a command that was
                   too late does no harm.
  HOLDFAST_STORE   as it was, if it was set. A URL given with --store is not
                   passed on.
  HOLDFAST_HELD, HOLDFAST_RUN
                   holdfast's own: keep them. By the first a run inside the
                   command that asks for a lock held around it is refused, not
                   left to wait for ever; by the second the command's processes
                   are found when they must be ended.
They say what was held when the command began. What outlives it inherits them,
too: do not take them for a proof that the lock is held.

Exit codes:
  the command's own, or 128+N if signal N ended it; and
    1  somebody else has the lock (with -n or -w; -E gives another code)
   64  the command line is wrong
   69  the store cannot be reached, or refuses
   71  the system refused a process or a pipe, or to take what is printed
   75  the lock was lost while the command ran; the command was ended
  126  the command cannot be run
  127  the command was not found

Signals: HUP, INT, QUIT, TERM, USR1, USR2 and WINCH go to the command's process
group; ^C and ^Z do what they always do. HUP, INT (and with it QUIT), TSTP, TTIN
and TTOU stay ignored if they are at the start, as by nohup; of the others run
cannot know. While run still waits, HUP, INT, QUIT and TERM end the wait.

Processes: the command and what it starts are one process group, and the lock is
held until the last of the group has ended, also what was left in the background
(-o: only until the command itself has ended). If the lock is lost, or holdfast
is killed or hangs, everything that belongs to the command is ended before
anybody else can get the lock:
  - its process group;
  - what has left the group but not the session, and has HOLDFAST_RUN: the jobs
    of a shell with set -m, what timeout(1) runs. On Linux.
  - what runs in another session while the command, as its parent, waits for it:
    su -c does so. On Linux, and not if holdfast itself is killed.
Jobs of set -m that the command leaves behind are not in its group: their end is
not waited for. A daemon (setsid: a session of its own, and its parent gone) is
left alone, and not protected. A command that becomes another user cannot be
ended by this one: write "sudo holdfast run ...", not "holdfast run ... sudo".

Loss: on a store with TTLs the lock is lost when this machine cannot reach the
store for too long; on every store it can be broken (holdfast break), or reach
--max-hold. The command then gets TERM, and KILL when the grace is over, in time
before the lock can be somebody else's; run ends with 75. A minimum hold
(--min-hold) does not count if the command could not be started.

The store: --store URL, else HOLDFAST_STORE, else .local/state/holdfast/locks in
your home.
  file:///directory
      For one machine and one user: root and you, or two users, have different
      locks. There locks end with their processes, nothing runs out, and --ttl
      means nothing.
  redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]   (rediss:// with TLS)
      For all machines that reach it; Redis 7.0 or later, or Valkey. A password
      belongs into HOLDFAST_STORE: everybody can read the arguments of a
      process. Parameters behind ?: ttl=10s is the TTL where --ttl is not given;
      guard=30s is how long a Redis that has just started, or taken over from
      another, grants nothing: what was granted before may still be held. The
      first to use a Redis sets the guard for all; 0 is none.
  redis+sentinel://[USER:PASSWORD@]HOST[:PORT],HOST.../NAME[/DATABASE]
      The primary that these Sentinels call NAME (rediss+sentinel:// with TLS).
      USER and PASSWORD are the servers'; sentinel-user= and sentinel-password=
      are for the Sentinels, if they ask for them. With replicas a TTL can be
      26s at most, 4s less than the guard. A lock lives through a failover if
      its TTL is long enough: ttl=20s, for instance.
  redlock://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT],HOST[:PORT]
      A majority of these Redis servers, which know nothing of each other: three
      or five, or one. It works while a majority answers, and is shared with
      programs that use redsync, node-redlock and others. Everybody names the
      same list. Not strictly first come first served, and without -s, --limit
      and --min-hold. ttl= and guard= as for redis://.
If a store cannot be reached, run tries again until -w is over, without -w for
ever; with -n it ends with 69 at once.

Times are seconds (10, 0.5) or 500ms, 30s, 5m, 2h.`

const runExample = `  # wait for the lock, then run
  holdfast run backup -- rsync -a src/ dst/
  # give up at once if it is held
  holdfast run -n backup -- rsync -a src/ dst/
  # wait 30 seconds; not getting it counts as success
  holdfast run -w 30 -E 0 backup -- ./backup.sh
  # a shell command
  holdfast run deploy -c 'git pull && make install'
  # three at a time
  holdfast run --limit 3 encode -- ffmpeg -i in.mov out.mp4
  # readers together, no writer beside them
  holdfast run -s data -- ./report.sh
  # two locks, both or none
  holdfast run accounts orders -- ./move.sh
  # once a minute at most, however often it is started
  holdfast run -n --min-hold 1m minutely -- ./job.sh`
