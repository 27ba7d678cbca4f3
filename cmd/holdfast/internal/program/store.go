package program

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/say"
	"holdfast.dev/driver"
	"holdfast.dev/filelock"
	_ "holdfast.dev/redislock"         // redis://, rediss:// and both with +sentinel
	_ "holdfast.dev/redislock/redlock" // redlock://
)

// storeVariable names the store in the environment.
const storeVariable = "HOLDFAST_STORE"

// storeURL finds out where the store is, and checks what can be checked without it. Its errors show nothing of the URL but its
// scheme.
func (p *program) storeURL(given bool) (string, error) {
	url, set := os.LookupEnv(storeVariable)
	switch {
	case given && p.store == "":
		return "", exit.Usagef("--store is empty; give the URL of a store, or leave --store out to use a directory of yours on this machine")
	case given:
		url = p.store
	case set && url == "":
		// A setting that got lost must not become a lock that the other machines do not see.
		return "", exit.Usagef("%s is set, but empty; give it the URL of a store, or unset it to use a directory of yours on this machine", storeVariable)
	case !set:
		return homeStore()
	}
	where := storeVariable
	if given {
		where = "--store"
	}
	return url, checkURL(where, url)
}

// isNamed reports whether somebody said which store to use.
func (p *program) isNamed(given bool) bool {
	_, set := os.LookupEnv(storeVariable)
	return given || set
}

// checkURL refuses URLs that no driver here takes.
func checkURL(where, url string) error {
	u, err := driver.ParseURL(url)
	if err != nil {
		return exit.Usagef("%s: %v", where, err)
	}
	_, known := driver.Lookup(u.Scheme)
	switch {
	case u.Scheme == "mem":
		return exit.Usagef("%s: a lock in the memory of this process (mem://) would protect nothing from other processes; leave it out to use "+
			"a directory of yours on this machine", where)
	case !known:
		return exit.Usagef("%s: this program has no driver for %s://; it has: %s", where, u.Scheme, strings.Join(schemes(), ", "))
	case u.Scheme == "file" && len(u.Hosts) > 0:
		return exit.Usagef("%s: not a path from the root; write three slashes and the whole path, as in file:///var/lib/locks", where)
	}
	return nil
}

// ttlOf is the TTL that a store's URL asks for, or a guard that is so short that it bounds it, where the command line names none; 0: it does
// not. One that is malformed is told when the store is opened.
func ttlOf(url string) (ttl time.Duration, asks bool) {
	u, err := driver.ParseURL(url)
	if err != nil {
		return 0, false
	}
	if ttl, err = u.Duration("ttl", 0); err != nil {
		return 0, false
	}
	if guard, err := u.Duration("guard", 0); err == nil && ttl == 0 && guard > 0 && guard < holdfast.DefaultTTL {
		return guard, false // no TTL may be longer
	}
	return ttl, ttl > 0
}

// schemes are those that make sense here, as one writes them.
func schemes() (found []string) {
	for _, scheme := range driver.Schemes() {
		if scheme != "mem" {
			found = append(found, scheme+"://")
		}
	}
	return found
}

// homeStore is the directory that is used when nobody says another: below HOME, whatever other variables say, because cron and a
// terminal must meet in the same one.
func homeStore() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		var me *user.User
		if me, err = user.Current(); err == nil {
			home = me.HomeDir
		}
	}
	if err != nil || !filepath.IsAbs(home) {
		return "", exit.Usagef("HOME is not the path of a directory, so nobody knows where your locks are; set HOME, or give --store")
	}
	return filelock.URL(filepath.Join(home, ".local", "state", "holdfast", "locks")), nil
}

// warnOfPassword: whoever is on this machine can read the arguments of every process.
func (p *program) warnOfPassword(given bool) {
	if u, err := driver.ParseURL(p.store); given && err == nil && !u.Password.Empty() {
		p.voice.Notef("the password in --store can be seen by everybody in the list of processes; put the URL into %s", storeVariable)
	}
}

// A look is a command that looks at a store or changes it, and is done.
type look struct {
	as      string // how others see it
	timeout span
	do      func(context.Context, *holdfast.Client) error
	nothing func(told bool) error // instead, if there is no store yet; told: that was said
}

// use opens the store for a look. It does not make one.
func (p *program) use(given bool, l look) error {
	if l.timeout.Duration <= 0 {
		return exit.Usagef("--timeout is how long to wait for the store: give more than 0 seconds")
	}
	url, err := p.storeURL(given)
	if err != nil {
		return err
	}
	p.warnOfPassword(given)
	if dir, _ := missing(url); dir != "" {
		return l.nothing(p.noteNoStore(given, dir))
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout.Duration)
	defer cancel()
	locks, err := openToLook(ctx, url, holdfast.Label(l.as))
	if err == nil {
		for _, text := range locks.Warnings() {
			p.voice.Notef("warning: %s", text)
		}
		err = l.do(ctx, locks)
		locks.Close()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		p.voice.Printf("%v; gave up after %s, --timeout allows more", err, say.Duration(l.timeout.Duration))
		return ended(exit.Unavailable)
	}
	return err
}

// openToLook opens a store for somebody who takes no lock there, and so does not mind if the default TTL is more than it allows.
func openToLook(ctx context.Context, url string, opts ...holdfast.OpenOption) (*holdfast.Client, error) {
	locks, err := holdfast.Open(ctx, url, opts...)
	if errors.Is(err, holdfast.ErrTTL) {
		locks, err = holdfast.Open(ctx, url, append(opts, holdfast.TTL(holdfast.MinTTL))...)
	}
	return locks, err
}

// completeSchemes completes the schemes that there are.
func completeSchemes(typed string) []string {
	return slices.DeleteFunc(schemes(), func(s string) bool { return !strings.HasPrefix(s, typed) })
}

const defaultTimeout = 10 * time.Second
