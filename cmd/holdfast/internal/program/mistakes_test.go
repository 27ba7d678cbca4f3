package program_test

import (
	"strings"
	"testing"
)

const helpRun = `"holdfast help run" lists the flags`

// What a newcomer gets wrong is answered by what would be right.
func TestMistakesOfNewcomers(t *testing.T) {
	w := newWorld(t)
	w.wrong(`the NAME of the lock and the command are missing; write: holdfast run NAME -- COMMAND`, "run")
	w.wrong(`the NAME of the lock is missing; write: holdfast run NAME -- echo 'a b'`, "run", "--", "echo", "a b")
	w.wrong(`the NAME of the lock is missing; write: holdfast run NAME -c 'echo hi'`, "run", "-c", "echo hi")
	w.wrong(`the NAME of the lock stands before --; write: holdfast run x -- true`, "run", "--", "x", "--", "true")
	w.wrong(`the command is missing; write: holdfast run x -- COMMAND`, "run", "x")
	w.wrong(`there is no command behind --; write: holdfast run x -- COMMAND`, "run", "x", "--")
	w.wrong(`the command behind -- is an empty word; is a variable of your script not set?`, "run", "x", "--", "")
	w.wrong(`put -- between the names of locks and the command: holdfast run x -- echo hi`, "run", "x", "echo", "hi")
	for _, secret := range []string{"PASSWORD=canary", "user:canary@host"} {
		w.wrong(`put -- between the names of locks and the command: holdfast run x -- mysqldump …`, "run", "x", "mysqldump", "db", secret)
	}
	for flag, secret := range map[string]string{"-p": "-pcanary", "-P": "-P canary", "--password": "--password canary", "--api-token": "--api-token=canary"} {
		w.wrong(`unknown flag `+flag+`; "holdfast help run" lists the flags; if it is a flag of the command to run, `+
			`put -- before that command: holdfast run x -- mysqldump …`, append([]string{"run", "x", "mysqldump"}, strings.Fields(secret)...)...)
	}
	w.wrong(`put -- between the names of locks and the command: holdfast run -w 5 x -- echo 'it'\''s' '' '\x1b'`,
		"run", "-w", "5", "x", "echo", "it's", "", "\x1b")
	w.wrong(`put -- between the names of locks and the command: holdfast --store file://… run -nE 3 --label=l x -- make`,
		"--store", "file:///nowhere", "run", "-nE", "3", "--label=l", "x", "make")
	w.wrong(`unknown flag -a; `+helpRun+`; if it is a flag of the command to run, put -- before that command: holdfast run x -- rsync -a src`,
		"run", "x", "rsync", "-a", "src")
	w.wrong(`unknown flag --archive; `+helpRun+`; if it is a flag of the command to run, put -- before that command: holdfast run x -- rsync --archive`,
		"run", "x", "rsync", "--archive")
	w.wrong(`unknown flag --nonblok; did you mean --nonblock? `+helpRun, "run", "--nonblok", "x", "--", "true")
	w.wrong(`unknown flag --max; did you mean --max-hold? `+helpRun, "run", "--max", "x", "--", "true")
	w.wrong(`unknown flag --jsn; did you mean --json? "holdfast help ls" lists the flags`, "ls", "--jsn")
	w.wrong(`unknown flag -store; did you mean --store?`, "ls", "-store", "file:///nowhere")
	w.wrong(`unknown flag -n; flags of a command stand behind it, as in: holdfast run -n NAME -- COMMAND`, "-n", "run", "x", "--", "true")
	w.wrong(`there is no command "lock"; to run a command while holding a lock, write: holdfast run NAME -- COMMAND`, "lock", "x")
	w.wrong(`there is no command "inspekt"; did you mean "holdfast inspect"?`, "inspekt", "x")
	w.wrong(`there is no command "unlock"; did you mean "holdfast break"?`, "unlock", "x")
	w.wrong(`there is no command "\x1b[2J"; "holdfast help" lists the commands`, "\x1b[2J")
	w.wrong(`there is no command "zzz"; "holdfast help" lists the commands`, "help", "zzz")
	w.wrong(`there is no command "run x"; write: holdfast help run`, "help", "run", "x")
	for _, short := range []string{"x", "cp", "up"} { // two letters away from ls
		w.wrong(`there is no command "`+short+`"; "holdfast help" lists the commands`, short)
	}
	w.wrong(`there is no command "rm"; did you mean "holdfast break"?`, "rm", "x")
	w.wrong(`there is no command "als"; did you mean "holdfast ls"?`, "als")
	w.wrong(`there is no command "insepct"; did you mean "holdfast inspect"?`, "insepct")
	w.wrong(`"a\nb": not a lock name: control character U+000A at byte 1; encode or remove it`, "run", "a\nb", "--", "true")
	w.wrong(`"": not a lock name: it is empty; use 1 to 512 bytes of UTF-8`, "run", "", "--", "true")
	w.wrong(`"\xff": not a lock name: it is not valid UTF-8; encode binary names, for instance as hexadecimal`, "inspect", "\xff")
	w.wrong(`the NAME of the lock is missing; write: holdfast inspect NAME [flags]`, "inspect")
	w.wrong(`one NAME is taken, 2 are given; put a name with spaces into quotes`, "inspect", "a", "b")
	w.wrong(`one PREFIX is taken, 2 are given; put a prefix with spaces into quotes`, "ls", "a", "b")
	w.wrong(`no name begins with "\t": not a lock name: control character U+0009 at byte 0; encode or remove it`, "ls", "\t")
	w.wrong(`holdfast version takes no arguments; leave "x" out`, "version", "x")
	w.wrong(`there is no completion for "tcsh"; name one of: bash, fish, powershell, zsh`, "completion", "tcsh")
	w.wrong(`no shell is given; name one of: bash, fish, powershell, zsh`, "completion")

	got := w.run()
	if got.code != 64 || got.stdout != "" || !strings.HasPrefix(got.stderr, "holdfast: no command is given\n\nHoldfast runs") {
		t.Errorf("without arguments: %d, %q, %q", got.code, got.stdout, got.stderr)
	}
}

// Flags of run that contradict each other, or that nothing could serve.
func TestFlagsOfRunAreChecked(t *testing.T) {
	w := newWorld(t)
	const takesTime = " takes a time: seconds such as 10 or 0.5, or 500ms, 30s, 5m, 2h; not "
	for _, c := range []struct{ flags, message string }{
		{"-n -w 5", `-n does not wait and -w does; give one of them`},
		{"-n --wait 0", `-n does not wait and -w does; give one of them`},
		{"-s -x", `-s shares the lock and -x does not; give one of them`},
		{"-s -e", `-s shares the lock and -x does not; give one of them`},
		{"-s --limit 2", `-s shares a lock and --limit counts permits; give one of them`},
		{"-e --limit 2", `-x has the lock alone and --limit lets several in; give one of them`},
		{"--limit 0", `--limit takes how many may run at a time, 1 or more, not "0"`},
		{"--limit three", `--limit takes how many may run at a time, 1 or more, not "three"`},
		{"-E 256", `-E, --conflict-exit-code takes an exit code from 0 to 255, not "256"`},
		{"-E -1", `-E, --conflict-exit-code takes an exit code from 0 to 255, not "-1"`},
		{"-E abc", `-E, --conflict-exit-code takes an exit code from 0 to 255, not "abc"`},
		{"--nonblock=maybe", `-n, --nonblock is on or off; write it without a value, not with "maybe"`},
		{"-w -1", `-w, --timeout` + takesTime + `"-1"`},
		{"-w nan", `-w, --timeout` + takesTime + `"nan"`},
		{"-w inf", `-w, --timeout` + takesTime + `"inf"`},
		{"-w 1e99", `-w, --timeout` + takesTime + `"1e99"`},
		{"-w soon", `-w, --timeout` + takesTime + `"soon"`},
		{"--wait -3s", `-w, --timeout` + takesTime + `"-3s"`},
		{"--ttl 0x10", `--ttl` + takesTime + `"0x10"`},
		{"--ttl 50ms", `--ttl is 50ms; from 100ms to 24h0m0s are possible`},
		{"--ttl 25h", `--ttl is 25h0m0s; from 100ms to 24h0m0s are possible`},
		{"--ttl 4 --grace 3", `--grace is 3s; at most half the TTL is possible, 2s here`},
		{"--grace 13h", `--grace is 13h0m0s; at most half the TTL is possible, 12h0m0s here`},
		{"--grace 0", `--grace is 0s; give at least 1ms, or leave it out`},
		{"--max-hold 0", `--max-hold is 0s; give at least 10ms, or leave it out`},
		{"--max-hold 2 --grace 2", `--max-hold is 2s and --grace 2s; the command would be told to end before it begins`},
		{"--min-hold 0", `--min-hold is 0s; more than 0 and at most 24h0m0s are possible`},
		{"--min-hold 25h", `--min-hold is 25h0m0s; more than 0 and at most 24h0m0s are possible`},
		{"--label \x1b[2J", `--label "\x1b[2J" contains a control character; leave it out`},
		{"--label " + strings.Repeat("x", 201), `--label takes at most 200 bytes of UTF-8`},
		{"-c true", `-c and a command behind -- are both given; leave one of them out`},
	} {
		w.wrong(c.message, append(append([]string{"run", "x"}, strings.Fields(c.flags)...), "--", "true")...)
	}
	w.wrong(`-c is empty; give it what the shell is to run, as in: -c 'make && make install'`, "run", "x", "-c", " ")
	w.wrong(`-w, --timeout needs a value; `+helpRun, "run", "x", "-w")
	w.wrong(`--token is missing; holdfast inspect 'a b' shows the tokens`, "break", "a b")
	w.wrong(`--token takes a number, not "-1"; holdfast inspect x shows the tokens`, "break", "x", "--token", "-1")
	w.wrong(`--timeout is how long to wait for the store: give more than 0 seconds`, "ls", "--timeout", "0")
}
