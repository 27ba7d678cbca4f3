package program_test

import (
	"net"
	"strings"
	"testing"

	"holdfast.dev/filelock"
)

const unknownScheme = `this program has no driver for nowhere://; it has: deaf-test://, file://, redis://, redis+sentinel://, rediss://, rediss+sentinel://, redlock://, remote-test://`

func TestWhereTheStoreIs(t *testing.T) {
	w := newWorld(t)
	w.hold(w.locks().Mutex("home"))
	flag, variable := w.home+"/flag", w.home+"/variable"
	for _, dir := range []string{flag, variable} {
		w.hold(w.locksIn(dir).Mutex(dir))
	}
	expect := func(name string, args ...string) {
		t.Helper()
		if rows := fields(w.run(append(args, "ls")...).stdout); len(rows) != 2 || rows[1][0] != name {
			t.Errorf("%q lists %q, want %s", args, rows, name)
		}
	}
	expect("home")
	expect(flag, "--store", filelock.URL(flag))
	expect(flag, "--store="+filelock.URL(flag))
	w.env = append(w.env, "HOLDFAST_STORE="+filelock.URL(variable))
	expect(variable)
	expect(flag, "--store", filelock.URL(flag))
	w.wrong("--store: "+unknownScheme, "ls", "--store", "nowhere://h") // the flag wins
	w.wrong("--store is empty; give the URL of a store, or leave --store out to use a directory of yours on this machine", "ls", "--store", "")
	w.env = append(w.env, "HOLDFAST_STORE=")
	w.wrong("HOLDFAST_STORE is set, but empty; give it the URL of a store, or unset it to use a directory of yours on this machine", "ls")
	w.env = append(w.env, "HOLDFAST_STORE=nowhere://h")
	w.wrong("HOLDFAST_STORE: "+unknownScheme, "run", "x", "--", "true")
	w.wrong("--store: a lock in the memory of this process (mem://) would protect nothing from other processes; leave it out to use "+
		"a directory of yours on this machine", "run", "x", "--store", "mem://", "--", "true")
	w.wrong("--store: not a path from the root; write three slashes and the whole path, as in file:///var/lib/locks", "ls", "--store", "file://locks")
	w.wrong("--store: not a usable store URL: it does not begin with a scheme; write file:///var/lib/x, for instance: schemes are lower case, "+
		"followed by ://", "ls", "--store", "locks")
}

func TestHomeIsMissing(t *testing.T) {
	w := newWorld(t)
	w.env = append(w.env, "HOME=not/absolute")
	w.wrong("HOME is not the path of a directory, so nobody knows where your locks are; set HOME, or give --store", "ls")
}

// unreachable is an address of this machine where nobody listens.
func unreachable(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

const canary = "c4n4ry-p4ssw0rd"

// The password of a store is shown nowhere: whatever is wrong with the URL, wherever it stands, whatever the command.
func TestPasswordsAreShownNowhere(t *testing.T) {
	w := newWorld(t)
	nobody := unreachable(t)
	urls := []string{
		"redis://user:PW@" + nobody + "/0", "rediss://u:PW@" + nobody + "?ca=PW", "redis://u:PW@" + nobody + "?guard=PW", "mem://:PW@h", "file://u:PW@h/x", "redis://u:PW",
		"redis://u:PW@[::1", "redis://u:a@PW@h", "redis:/u:PW@h",
		"redis://u:PW@h:99999", "REDIS://u:PW@h", "redis://u:%zzPW@h", "redis://u:PW/@h", "redis://u:PW#@h", "//u:PW@h", "u:PW@h", "redis://u:PW@h\x1b",
		"redlock://u:PW@" + nobody, "redlock://?node=redis://u:PW@" + nobody + "&guard=PW", "redlock://?node=u:PW@h",
		"redis://h?password=PW", "file:///nowhere?network=PW", "PW", "remote-test://u:PW@" + nobody, "remote-test://u:PW@" + nobody + "?x=PW",
	}
	commands := [][]string{
		{"ls"}, {"ls", "--json"}, {"inspect", "x"}, {"break", "x", "--token", "1"}, {"run", "-n", "x", "--", "env"}, {"run", "x", "echo"},
		{"run", "x", "--bad", "--", "env"}, {"run"}, {"bad"}, {"version"}, {"help", "run"}, {"ls", "--help"}, {"run", "--help"},
		{"__complete", "inspect", ""}, {"__complete", "inspect", "--bad", ""}, {"__completeNoDesc", "run", "--sto"}, {},
	}
	share := 3
	if testing.Short() {
		share = 9
	}
	for i, url := range urls {
		url = strings.ReplaceAll(url, "PW", canary)
		for j, command := range commands {
			if (i+j)%share != 0 {
				continue // every URL and every command has its turn
			}
			for _, how := range [][]string{{"--store", url}, {"--store=" + url}, {"-store=" + url}, {"--stor=" + url}, {"-store", url}, {"--x:" + url}} {
				dash := len(command)
				for k, arg := range command {
					if arg == "--" {
						dash = k
					}
				}
				if len(command) > 0 && strings.HasPrefix(command[0], "__complete") {
					dash = 1
				}
				args := append(append(append([]string{}, command[:dash]...), how...), command[dash:]...)
				shows(t, w.run(args...), args)
				if (i+j)%(2*share) != 0 {
					break // all ways for some, one way for all
				}
			}
			v := &world{t, w.home, append(w.env[:len(w.env):len(w.env)], "HOLDFAST_STORE="+url)}
			if len(command) > 0 && command[len(command)-1] == "env" {
				continue // the environment is passed on
			}
			shows(t, v.run(command...), append(command, "HOLDFAST_STORE="+url))
		}
	}
}

func shows(t *testing.T, got result, args []string) {
	t.Helper()
	if strings.Contains(got.stdout+got.stderr, canary) {
		t.Errorf("%q shows the password: %q, %q", args, got.stdout, got.stderr)
	}
}

// silent is the address of somebody who accepts, because the kernel does, and says nothing.
func silent(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}
