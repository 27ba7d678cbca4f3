package redlock

import (
	"context"
	_ "embed"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
)

//go:embed ballot.lua
var code string

// The library's number is in its name and in the names of its functions: whoever changes ballot.lua or the guard's code raises it.
const (
	library   = "holdfast_redlock_1"
	functions = library + "_"

	fnVote    = functions + "vote"
	fnTake    = functions + "take"
	fnRenew   = functions + "renew"
	fnRepair  = functions + "repair"
	fnRelease = functions + "release"
	fnBreak   = functions + "break"
	fnLook    = functions + "look"
	fnTell    = functions + "tell"

	fnVotes = functions + "votes" // several, also repairs
	fnKeeps = functions + "keeps" // several, of those that take the token, renew or let go
)

// letters name functions, and what they are called with, in a request of several: see ballot.lua.
var letters = map[string]string{fnVote: "v", fnRepair: "p", fnTake: "t", fnRenew: "n", fnRelease: "r"}

func letter(function string, args int) string {
	switch {
	case function == fnVote && args > 4:
		return "V"
	case function == fnRelease && args > 3:
		return "R"
	}
	return letters[function]
}

var ballots = guard.NewLibrary(library, code)

// How the functions answer: see ballot.lua.
const (
	saysDone    = "G"
	saysHeld    = "H"
	saysAlready = "A"
	saysGone    = "N"
	saysBroken  = "B"
	saysUndone  = "T"
)

// A word is what a node says to one request.
type word uint8

const (
	failed  word = iota // it has not answered, or with an error
	done                // yes
	held                // somebody else has it
	already             // the attempt has it, by another try
	guarded             // it may have forgotten something, and does not vote yet
	gone                // the try has nothing here
	broken              // the hold was broken
	undone              // the try was undone before
)

// An answer is what a node said to one request, and what belongs to it.
type answer struct {
	word   word
	err    error // failed
	unsent bool  // failed, and the node has not heard of it, nor will it

	vote          // done, of a vote
	run    string // the id of the server process, where it is told
	left   time.Duration
	holder *driver.Holder // held
	voting bool           // held, by a try that has no token yet, and may never hold
	mark   string         // held: the same on every node, if the holder is
	try    string         // already: its number; undone: of the last that is dead
	token  uint64         // already; done, of the vote of a node that is the only one
	free   bool           // gone: nobody has the key
	by     *driver.Broken // broken; with gone: it has ended, too
	ended  bool           // broken
	late   bool           // done: the node had no part in the round that decided on the token
}

// lingers reports whether the request may still be carried out.
func (a answer) lingers() bool { return a.word == failed && !a.unsent && !driver.Answered(a.err) }

// A question is what all requests for one try have in common.
type question struct {
	keys    []string // the lock's, and the store's
	attempt string
	id      string // the attempt and the number of the try, as in the value
	label   string
	tokens  tokens
}

// tokens says when the token of a try is decided on.
type tokens uint8

const (
	later   tokens = iota // in a second round, by the votes
	here                  // by the node, which is the only one
	without               // there is none
)

// text is how a vote is told.
func (t tokens) text() string {
	return [...]string{later: "later", here: "here", without: "without"}[t]
}

// idOf is the id of an attempt's try.
func idOf(attempt string, number uint32) string {
	digits := strconv.FormatUint(1<<32|uint64(number), 16) // 1, and eight digits
	return attempt + digits[1:]
}

// lastTry is greater than the number of every try.
const lastTry = "ffffffff"

// A primitive is the lock of one node: what of redlock knows nothing of other nodes.
type primitive interface {
	vote(ctx context.Context, q *question, ttl time.Duration, w *waits) answer
	take(ctx context.Context, q *question, token uint64, counts bool) answer
	renew(ctx context.Context, q *question, ttl time.Duration, claims bool) answer
	repair(ctx context.Context, q *question, ttl time.Duration, token uint64) answer
	release(ctx context.Context, q *question, u undoing) answer
	look(ctx context.Context, q *question) answer
}

// waits is how somebody who waits can be told.
type waits struct {
	channel string
	since   int64 // in microseconds, by the middle of the nodes' clocks
	known   bool  // the node may have been told already
}

// An undoing says what a release frees.
type undoing struct {
	all   bool          // the attempt, with all its tries
	doubt bool          // a request of it may still be on its way
	quiet bool          // its sender asks again: nobody need be told
	ttl   time.Duration // for how long what is on its way must be kept out
	next  *waits        // of the same client, who waits for the lock
}

// ballotBox is the primitive of a server with functions. What goes to it while requests are under way is sent together.
type ballotBox struct {
	guard        *guard.Store
	votes, keeps *guard.Combiner
}

func newBallotBox(g *guard.Store) *ballotBox {
	return &ballotBox{g, g.Combiner(fnVotes, letter), g.Combiner(fnKeeps, letter)}
}

// combined is what calls of a function are sent with; nil: each goes by itself.
func (b *ballotBox) combined(function string) *guard.Combiner {
	switch function {
	case fnVote, fnRepair:
		return b.votes
	case fnTake, fnRenew, fnRelease:
		return b.keeps
	}
	return nil
}

func (b *ballotBox) call(ctx context.Context, function string, q *question, args ...string) (guard.Reply, answer) {
	st, err := b.guard.Opened(ctx)
	if err != nil {
		return guard.Reply{}, answer{err: err, unsent: true}
	}
	var send guard.Send
	if with := b.combined(function); with != nil {
		send = func(ctx context.Context, st *guard.Opened) (rueidis.RedisMessage, error) {
			return with.Do(ctx, function, q.keys[0], st.ID, args)
		}
	}
	r, err := b.guard.Call(ctx, st, function, q.keys, args, send)
	if err != nil {
		unsent, _ := errors.AsType[*guard.Unsent](err)
		return r, answer{err: err, unsent: unsent != nil}
	}
	switch r.Says {
	case saysDone:
		return r, answer{word: done}
	case saysHeld:
		left, holder := readHolder(r)
		return r, answer{word: held, left: left, holder: &holder, voting: r.Text(4) == stateVoted, mark: r.Text(1), run: r.Text(6)}
	case saysAlready:
		return r, answer{word: already, try: r.Text(0), token: uint64(r.Number(1)), left: r.Span(2), run: r.Text(3)}
	case saysGone:
		return r, answer{word: gone, free: r.Number(0) == 1}
	case saysBroken:
		return r, answer{word: broken, by: &driver.Broken{By: r.Text(0), Now: r.Number(1) == 1}, ended: r.Number(2) == 1, left: r.Span(3)}
	case saysUndone:
		return r, answer{word: undone, try: r.Text(0)}
	case guard.SaysGuarded:
		return r, answer{word: guarded, left: r.Span(0)}
	case guard.SaysBound:
		return r, answer{err: &driver.Refused{Err: errBound}}
	}
	return r, answer{err: b.guard.Strange(ctx, function)}
}

var errBound = errors.New("the TTL is longer than the guard that the store has now: ask again, or open the store again")

// readHolder reads H.
func readHolder(r guard.Reply) (left time.Duration, h driver.Holder) {
	left = r.Span(0)
	if r.Number(0) < 0 {
		left = driver.Forever
	}
	h = driver.Holder{Mode: driver.Exclusive, Left: left}
	if r.Number(2) < 0 {
		h.Label = foreign
		return left, h
	}
	h.Token, h.Held, h.Broken, h.Label = uint64(r.Number(2)), r.Span(3), r.Text(4) == stateBroken, r.Text(5)
	return left, h
}

// States of a value: see ballot.lua.
const (
	stateVoted  = "v"
	stateHeld   = "h"
	stateLate   = "r"
	stateBroken = "b"
)

// foreign is the label of whoever wrote a value that is not ours.
const foreign = "another program"

func (b *ballotBox) vote(ctx context.Context, q *question, ttl time.Duration, w *waits) answer {
	args := append(make([]string, 0, 7), q.id, guard.Micros(ttl), q.label, q.tokens.text())
	if w != nil {
		args = append(args, w.channel, strconv.FormatInt(w.since, 10), flag(w.known))
	}
	r, a := b.call(ctx, fnVote, q, args...)
	switch a.word {
	case done:
		a.vote, a.run, a.token = vote{taken: uint64(r.Number(0)), clock: uint64(max(r.Alone, r.Number(1)))}, r.Text(2), uint64(r.Number(3))
	case guarded:
		a.vote, a.run = vote{clock: uint64(r.Number(1))}, r.Text(2)
	}
	return a
}

func (b *ballotBox) take(ctx context.Context, q *question, token uint64, counts bool) answer {
	state := stateLate
	if counts {
		state = stateHeld
	}
	_, a := b.call(ctx, fnTake, q, q.id, strconv.FormatUint(token, 10), state)
	return a
}

func (b *ballotBox) renew(ctx context.Context, q *question, ttl time.Duration, claims bool) answer {
	text := guard.Micros(ttl)
	if claims {
		text = "-" + text
	}
	r, a := b.call(ctx, fnRenew, q, q.id, text)
	if a.word == done {
		a.left, a.late, a.run = r.Span(0), q.tokens != without && r.Text(1) != stateHeld, r.Text(2)
	}
	return a
}

func (b *ballotBox) repair(ctx context.Context, q *question, ttl time.Duration, token uint64) answer {
	_, a := b.call(ctx, fnRepair, q, q.id, guard.Micros(ttl), q.label, strconv.FormatUint(token, 10))
	return a
}

func (b *ballotBox) release(ctx context.Context, q *question, u undoing) answer {
	what, how := q.id, ""
	if u.all {
		what = q.attempt
	}
	if u.doubt {
		how += "d"
	}
	if u.quiet {
		how += "q"
	}
	args := append(make([]string, 0, 5), what, guard.Micros(u.ttl), how)
	if u.next != nil {
		args = append(args, u.next.channel, strconv.FormatInt(u.next.since, 10))
	}
	_, a := b.call(ctx, fnRelease, q, args...)
	return a
}

// look answers held, or gone; left is then what is left of the guard.
func (b *ballotBox) look(ctx context.Context, q *question) answer {
	r, a := b.call(ctx, fnLook, q)
	if a.word != done {
		return a
	}
	inside := r.Array(1)
	says := inside.Text(0)
	if says != saysHeld {
		return answer{word: gone, free: true, left: r.Span(0)}
	}
	inside.Rest = inside.Rest[1:]
	_, holder := readHolder(inside)
	return answer{word: held, holder: &holder, voting: inside.Text(4) == stateVoted, mark: inside.Text(1), left: r.Span(0)}
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
