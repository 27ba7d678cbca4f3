package redisconn

import (
	"regexp"
	"strings"

	"holdfast.dev/driver"
)

// A meaning is what a reply of the server means to us. Temporary ones are no refusal.
type meaning struct {
	kind error
	text string // what happened, and what to do
}

// byCode are replies whose first word says it all. Inside functions they come with the same word.
var byCode = map[string]meaning{
	"WRONGPASS":  {ErrAuth, "the server does not accept this user and password; correct them in the URL"},
	"NOAUTH":     {ErrAuth, "the server asks for a password; write it before the host in the URL, redis://user:password@…, or redis://:password@… for the default user; with Sentinels redis+sentinel://user:password@…"},
	"NOPERM":     {ErrPermission, "the server does not permit this user to do that; grant it the commands, keys and channels that the locks need (ACL SETUSER; ACL LOG shows what was denied, the page of the store in docs/stores what is needed)"},
	"DENIED":     {ErrPermission, "the server is in protected mode and answers its own machine only; give it a password, or bind it to a private address"},
	"READONLY":   {ErrReadOnly, "the server is a read-only replica; use the address of its primary"},
	"OOM":        {ErrMemory, "the server's memory is used up; raise its maxmemory, or remove other data"},
	"MISCONF":    {ErrPersistence, "the server accepts no writes because it cannot save its data; look at its log, its disk and the rights of its directory"},
	"NOREPLICAS": {ErrReplicas, "the server accepts no writes because too few replicas follow it (min-replicas-to-write); bring them back"},
	"WRONGTYPE":  {ErrKeyType, "a key of the locks holds something else: another program uses it; choose another prefix, or remove that key"},
	"MOVED":      {ErrCluster, "the server is part of a Redis Cluster and another node has this key; a single server is needed here"},
	"ASK":        {ErrCluster, "the server is part of a Redis Cluster and another node has this key; a single server is needed here"},
	"CROSSSLOT":  {ErrCluster, "the server is part of a Redis Cluster and the keys of one request belong to several nodes; a single server is needed here"},
	"CLUSTERDOWN": {ErrCluster,
		"the server is part of a Redis Cluster that is down or incomplete; a single server is needed here, or mend the cluster (redis-cli --cluster check)"},
	"LOADING":    {ErrTemporary, "the server has just started and is still loading its data; it can be asked again soon"},
	"BUSY":       {ErrTemporary, "the server is busy with a long script of somebody's; it can be asked again soon, or end that one with SCRIPT KILL or FUNCTION KILL"},
	"TRYAGAIN":   {ErrTemporary, "the server is moving this key to another node; it can be asked again soon"},
	"MASTERDOWN": {ErrTemporary, "the server is a replica that has lost its primary; it can be asked again soon, or use the primary's address"},
}

// byText are replies whose code is ERR, which says nothing. The parts that they are recognised by are the server's own words, never arguments.
var byText = []struct {
	begin string
	meaning
}{
	{"DB index is out of range", meaning{ErrDatabase, "the server has no database of that number; write a lower one, /0 for instance, or raise its setting databases"}},
	{"invalid DB index", meaning{ErrDatabase, "the server has no database of that number; write a lower one, /0 for instance"}},
	{"SELECT is not allowed", meaning{ErrDatabase, "the server has a single database because it is part of a cluster; write /0, or leave it out"}},
	{"invalid password", meaning{ErrAuth, "the server does not accept this password; correct it in the URL"}},
	{"Client sent AUTH, but no password", meaning{ErrAuth, "the server has no password; leave it out of the URL"}},
	{"AUTH <password> called without any password", meaning{ErrAuth, "the server has no password for the default user; leave it out of the URL, or name the user"}},
	{"max number of clients reached", meaning{ErrTemporary, "the server has no room for another connection (maxclients); close some, or raise it"}},
	{"The user executing the script can't", byCode["NOPERM"]},
	{"unknown command", meaning{ErrFunctions,
		"the server does not know a command that is needed: it is older than Redis 7.0, or it forbids functions, or it is a Sentinel; use a newer one, or redis+sentinel://HOST/NAME for a Sentinel, or redlock://, which does without functions, and then without guard and tokens"}},
	{"unknown subcommand", meaning{ErrFunctions,
		"the server does not know a command that is needed: it is older than Redis 7.0, or it forbids functions, or it is a Sentinel; use a newer one, or redis+sentinel://HOST/NAME for a Sentinel, or redlock://, which does without functions, and then without guard and tokens"}},
}

// Reply translates an error with which one of several functions ended, as [Error] does the error of a whole call. What has no code of
// its own is unknown: the function may have written something before.
func Reply(text string) error {
	err := reply(text)
	if refused, ok := err.(*driver.Refused); ok {
		if _, _, _, found := meaningOf(text); !found {
			return refused.Err
		}
	}
	return err
}

// reply translates an error that the server sent.
func reply(text string) error {
	code, rest, m, found := meaningOf(text)
	e := &ServerError{Code: code, Message: m.text, Err: m.kind}
	if m.kind == ErrPermission && (strings.Contains(rest, "'fcall") || strings.Contains(rest, "'function")) {
		e.Message += "; where a server has no functions at all redlock:// does without them, and without guard and tokens"
	}
	if !found {
		e.Message = "the server replied with an error: " + harmless(rest)
		if inFunction(rest) { // it may have written something before
			e.Message += "; please report this"
			return e
		}
	}
	if m.kind == ErrTemporary {
		return e
	}
	return &driver.Refused{Err: e}
}

// meaningOf finds out what a reply means. rueidis has taken ERR off, if that was its code.
func meaningOf(text string) (code, rest string, m meaning, found bool) {
	text = strings.TrimPrefix(text, "ERR ")
	for _, t := range byText {
		if strings.HasPrefix(text, t.begin) {
			return "ERR", text, t.meaning, true
		}
	}
	code, rest, _ = strings.Cut(text, " ")
	if m, found = byCode[code]; found {
		return code, rest, m, true
	}
	if len(code) < 3 || len(code) > 20 || strings.ContainsFunc(code, func(r rune) bool { return r < 'A' || r > 'Z' }) {
		return "ERR", text, m, false
	}
	return code, rest, m, false
}

// inFunction reports whether an error came up while a function ran.
func inFunction(text string) bool {
	return strings.Contains(text, " script: ") && strings.Contains(text, ", on @")
}

// What may be an argument: whatever is in quotes, and long words of digits and letters.
var (
	quoted   = regexp.MustCompile("['\"`].*['\"`]")
	longWord = regexp.MustCompile(`[^\s]{16,}`)
	control  = regexp.MustCompile(`[^ -~]+`)
)

// harmless is a reply without what it may echo of a request: arguments can be secret.
func harmless(text string) string {
	text, _, _ = strings.Cut(text, ", with args beginning with")
	text = control.ReplaceAllString(text, " ")
	text = quoted.ReplaceAllString(text, "'…'")
	text = longWord.ReplaceAllString(text, "…")
	if len(text) > 120 {
		text = text[:120] + "…"
	}
	return strings.TrimSpace(text)
}
