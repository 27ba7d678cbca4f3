package program

const runLong = `Run takes the lock NAME, runs the command, and lets go of the lock when the command has ended. While somebody else
holds it, run waits, first come first served where the store can.

The command stands behind --. No shell reads it, unless it is given with -c. Standard input, output and error are its own. With
several names all locks are taken together, or none. Names are 1 to 512 bytes, without control characters.

What the command sees:
  HOLDFAST_NAME    the names of the locks, one per line
  HOLDFAST_TOKEN   their fencing tokens, one per line: numbers that grow with every holder. Let whatever the command writes
                   to refuse a token smaller than one it has seen, and a command that was too late does no harm.
  HOLDFAST_STORE   as it was, if it was set. A URL given with --store is not passed on.
  A holdfast run inside the command that asks for a lock which is already held around it is refused, not left to wait for ever.

Exit codes:
  the command's own, or 128+N if signal N ended it; and
    1  somebody else has the lock (with -n or -w; -E gives another code)
   64  the command line is wrong
   69  the store cannot be reached, or refuses
   71  the system refused a process or a pipe
   75  the lock was lost while the command ran; the command was ended
  126  the command cannot be run
  127  the command was not found

Signals: HUP, INT, QUIT, TERM, USR1, USR2 and WINCH go to the command and all its processes; ^C and ^Z do what they always
do. Signals that are ignored at the start stay ignored (nohup). While run still waits, HUP, INT, QUIT and TERM end the wait.

Processes: the command and what it starts are one group. The lock is held until the last of them has ended, also those left
in the background (-o: only until the command itself has ended). If holdfast is killed or hangs, a guard kills the group
before anybody else can get the lock. A daemon that leaves the group (setsid) is not touched, and not protected.

Loss: on a store with TTLs the lock is lost when this machine cannot reach the store for too long; on every store it can be
broken (holdfast break), or reach --max-hold. The command then gets TERM, and KILL when the grace is over, in time before
the lock can be somebody else's; run ends with 75.

The store: --store URL, else HOLDFAST_STORE, else the directory .local/state/holdfast/locks in your home, which is for this
machine and this user. There locks end with their processes, nothing runs out, and --ttl means nothing. If the store cannot
be reached, run tries again until -w is over, without -w for ever; with -n it ends with 69 at once.

Times are seconds (10, 0.5) or 500ms, 30s, 5m, 2h.`

const runExample = `  holdfast run backup -- rsync -a src/ dst/                 wait for the lock, then run
  holdfast run -n backup -- rsync -a src/ dst/              give up at once if it is held
  holdfast run -w 30 -E 0 backup -- ./backup.sh             wait 30 seconds; not getting it counts as success
  holdfast run deploy -c 'git pull && make install'         a shell command
  holdfast run --limit 3 encode -- ffmpeg -i in.mov out.mp4 three at a time
  holdfast run -s data -- ./report.sh                       readers together, no writer beside them
  holdfast run accounts orders -- ./move.sh                 two locks, both or none
  holdfast run --min-hold 50s minutely -- ./job.sh          from cron on several machines: once a minute, though clocks differ`
