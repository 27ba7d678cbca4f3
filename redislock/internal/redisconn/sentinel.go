package redisconn

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/driver"
)

// sentinels are those that a URL names, and what they are asked about.
type sentinels struct {
	addresses []string
	name      string // of the primary
	user      string // theirs, not the servers'
	password  driver.Secret
	limit     time.Duration // for all of them together
}

// A place is where a primary is said to be.
type place struct {
	told  string // its address as told, before nat=
	epoch uint64 // of the failover that made it the primary
}

// An opinion is one Sentinel's answer.
type opinion struct {
	place
	err error // it is none, and why
}

// find asks all Sentinels at once. It waits until a majority has named a primary, or all have answered or failed, or time is up; then
// the highest epoch counts, and among equals what is known already. A minority never takes us back to an epoch before known's.
func (s *sentinels) find(ctx context.Context, t *Target, known place) (place, error) {
	asking, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	opinions := make(chan opinion, len(s.addresses))
	for _, address := range s.addresses {
		go func() { opinions <- s.ask(asking, t, address) }()
	}
	v := vote{of: s, known: known}
	for range s.addresses {
		v.count(<-opinions) // all end with asking
		if v.isMajority(v.named) {
			break
		}
	}
	if ctx.Err() != nil {
		return place{}, ctx.Err()
	}
	return v.result()
}

// ask asks one. It has two answers of the Sentinel for one: during the last part of a failover SENTINEL MASTER has the new epoch but
// still the old address. Were they given before and after a failover, then it is the address that is too new for its epoch.
func (s *sentinels) ask(ctx context.Context, t *Target, address string) opinion {
	answers, err := s.talk(ctx, t, address, []string{"SENTINEL", "MASTER", s.name}, []string{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.name})
	if err != nil {
		return opinion{err: err}
	}
	fields := fieldsOf(answers[0])
	parts, _ := answers[1].([]any)
	if len(parts) != 2 {
		return opinion{err: s.unknownName()}
	}
	host, _ := parts[0].(string)
	port, _ := parts[1].(string)
	told, ok := addressOf(net.JoinHostPort(host, port))
	epoch, err := strconv.ParseUint(fields["config-epoch"], 10, 64)
	if !ok || err != nil {
		return opinion{err: errForeign}
	}
	return opinion{place: place{told, epoch}}
}

// talk has a conversation with one Sentinel. An answer that declines is its error.
func (s *sentinels) talk(ctx context.Context, t *Target, address string, requests ...[]string) ([]any, error) {
	conn, err := t.open(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	defer hangUp(conn)
	auth := 0
	if !s.password.Empty() {
		auth = 1
		words := []string{"AUTH", s.user, s.password.Reveal()}
		if s.user == "" {
			words = []string{"AUTH", s.password.Reveal()}
		}
		requests = append([][]string{words}, requests...)
	}
	answers, err := newTalk(conn).ask(ctx, requests...)
	if err != nil {
		return nil, err
	}
	for _, answer := range answers {
		if text, no := answer.(declined); no {
			return nil, s.declined(string(text))
		}
	}
	return answers[auth:], nil
}

// declined translates what a Sentinel replied with.
func (s *sentinels) declined(text string) error {
	if strings.HasPrefix(text, "ERR No such master") {
		return s.unknownName()
	}
	err := reply(text)
	e := kindOf(err)
	switch e.Err {
	case ErrAuth:
		e.Message = authStep(e.Code, text) + " (the URL's user and password are for the servers)"
	case ErrPermission:
		e.Message = "the Sentinels do not permit that to this user; grant it SENTINEL MASTER, SENTINEL GET-MASTER-ADDR-BY-NAME and SENTINEL REPLICAS"
	case ErrFunctions: // it does not know the command
		e.Err = ErrSentinel
		e.Message = "what answers is no Sentinel; name the Sentinels in the URL, whose port is 26379 for most, or write redis:// for a server"
	}
	return err
}

// authStep says what to do where a Sentinel did not accept who we are, or what we did not say.
func authStep(code, text string) string {
	switch {
	case code == "NOAUTH":
		return "the Sentinels ask for a password; name it in the URL, sentinel-password=…, and sentinel-user=… unless it is the default user's"
	case strings.Contains(text, "AUTH"): // it was sent, and there is nothing to compare it with
		return "the Sentinels have no password; leave sentinel-password out of the URL, or name the user that has one, sentinel-user=…"
	}
	return "the Sentinels do not accept this sentinel-user and sentinel-password; correct them in the URL"
}

func (s *sentinels) unknownName() error {
	return &driver.Refused{Err: &ServerError{Code: "ERR", Err: ErrSentinel,
		Message: fmt.Sprintf("the Sentinels know no primary called %q; look at the last part of the URL", s.name)}}
}

// A vote counts opinions.
type vote struct {
	of    *sentinels
	known place
	best  place
	named int     // how many have named a primary
	no    []error // of those that declined
	last  error   // of one that could not be asked
}

func (v *vote) isMajority(n int) bool { return n > len(v.of.addresses)/2 }

func (v *vote) count(o opinion) {
	switch {
	case o.err == nil:
		v.named++
		if v.named == 1 || o.epoch > v.best.epoch || o.epoch == v.best.epoch && o.told == v.known.told {
			v.best = o.place
		}
	case driver.Answered(o.err):
		v.no = append(v.no, o.err)
	default:
		v.last = network(inOwnTime(o.err))
	}
}

func (v *vote) result() (place, error) {
	all := len(v.of.addresses)
	switch {
	case v.named > 0 && !v.isMajority(v.named) && v.best.epoch < v.known.epoch:
		return place{}, &hint{fmt.Sprintf("only %d of %d Sentinels could be asked, and they do not know of the last failover yet", v.named, all),
			[]error{ErrTemporary}}
	case v.named > 0:
		return v.best, nil
	case v.isMajority(len(v.no)):
		return place{}, v.no[0]
	}
	return place{}, &hint{fmt.Sprintf("none of the %d Sentinels in the URL could say where the primary is; look at their hosts and ports, and at the network",
		all), []error{v.last}}
}
