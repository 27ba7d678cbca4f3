package filelock

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/driver"
)

// The text of a lock's file: a line for the lock, then one for each entry. People may read it; only we write it.
//
//	lock 0 17 65 boot-91a2b3c4 EPOCH "orders/42"
//	h CLIENT ATTEMPT 1 0 KEEP 0 SINCE TOKEN GRANTED UNTIL WALL "" "host:4711"
//	w CLIENT ATTEMPT 1 0 KEEP 0 SINCE 0 0 0 0 "" "host:4712"
//
// The first line has kind (lock, or permits), limit, next token, end of tokens, the clock by which stamps are, when that was zero by
// the wall clock, name; an entry has phase, client, attempt, mode, n, keep, whether it was broken, since, token, granted, until, wall,
// by whom, label. What is empty is a dash.
//
// A line ends with as many spaces as its numbers can still become longer by, when its entry is granted the lock, or is counted by
// another clock: so a hand-over never makes the text longer, and needs no space of the disk.

const (
	kindLock    = "lock"
	kindPermits = "permits"
	stateFields = 6  // before name
	entryFields = 12 // before by and label
	numberWidth = 20 // of any number
	clockWidth  = len("boot-00000000")
)

// encode appends the text to b.
func (s *state) encode(b []byte) []byte {
	kind := kindLock
	if s.permits {
		kind = kindPermits
	}
	b = append(append(b, kind...), ' ')
	b = append(strconv.AppendInt(b, int64(s.limit), 10), ' ')
	from := len(b)
	b = append(strconv.AppendUint(b, s.next, 10), ' ')
	b = append(strconv.AppendUint(b, s.end, 10), ' ')
	b = append(append(b, dash(s.clock)...), ' ')
	b = append(strconv.AppendInt(b, s.epoch, 10), ' ')
	spare := 3*numberWidth + clockWidth + 4 - (len(b) - from)
	b = append(pad(strconv.AppendQuote(b, s.name), spare), '\n')
	for _, list := range [][]*entry{s.holders, s.queue, s.ghosts} {
		for _, e := range list {
			if e.line == "" {
				e.line = string(e.encode())
			}
			b = append(append(b, e.line...), '\n')
		}
	}
	return b
}

func (e *entry) encode() []byte {
	b := make([]byte, 0, 200)
	b = append(b, byte(e.phase))
	for _, id := range []string{e.client, e.attempt} {
		if id == "" {
			id = "-"
		}
		b = append(append(b, ' '), id...)
	}
	broken := int64(0)
	if e.broken {
		broken = 1
	}
	for _, n := range []int64{int64(e.mode), int64(e.n), int64(e.keep), broken} {
		b = strconv.AppendInt(append(b, ' '), n, 10)
	}
	spare := 0
	for i, n := range []int64{int64(e.since), int64(e.token), int64(e.granted), int64(e.until), e.wall} {
		from := len(b)
		b = strconv.AppendInt(append(b, ' '), n, 10)
		if i < 3 || e.keep > 0 { // without a minimum hold there is never an end of it
			spare += 1 + numberWidth - (len(b) - from)
		}
	}
	b = strconv.AppendQuote(append(b, ' '), e.by)
	return pad(strconv.AppendQuote(append(b, ' '), e.label), spare)
}

// pad appends spaces.
func pad(b []byte, spaces int) []byte {
	for range spaces {
		b = append(b, ' ')
	}
	return b
}

func decodeState(text string) (*state, error) {
	head, rest, _ := strings.Cut(text, "\n")
	fields := strings.SplitN(head, " ", stateFields+1)
	if len(fields) != stateFields+1 || fields[0] != kindLock && fields[0] != kindPermits {
		return nil, fmt.Errorf("%w: its first line is not that of a lock", errDamaged)
	}
	s := &state{permits: fields[0] == kindPermits}
	limit, err1 := strconv.ParseInt(fields[1], 10, 64)
	next, err2 := strconv.ParseUint(fields[2], 10, 64)
	end, err3 := strconv.ParseUint(fields[3], 10, 64)
	epoch, err4 := strconv.ParseInt(fields[5], 10, 64)
	name, err5 := strconv.Unquote(strings.TrimRight(fields[stateFields], " "))
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || err5 != nil || limit < 0 || int64(int(limit)) != limit || next > end ||
		driver.CheckName(name) != nil {
		return nil, fmt.Errorf("%w: its first line cannot be read", errDamaged)
	}
	s.limit, s.next, s.end, s.name = int(limit), next, end, name
	s.clock, s.epoch = undash(fields[4]), epoch
	for line := range strings.SplitSeq(strings.TrimSuffix(rest, "\n"), "\n") {
		if line == "" {
			continue
		}
		e, err := decodeEntry(line)
		if err != nil {
			return nil, err
		}
		switch e.phase {
		case waiting:
			s.queue = append(s.queue, e)
		case ghost:
			s.ghosts = append(s.ghosts, e)
		default:
			s.holders = append(s.holders, e)
		}
	}
	return s, nil
}

func decodeEntry(line string) (*entry, error) {
	wrong := fmt.Errorf("%w: the line of an entry cannot be read", errDamaged)
	fields := strings.SplitN(line, " ", entryFields+1)
	if len(fields) != entryFields+1 || len(fields[0]) != 1 {
		return nil, wrong
	}
	var n [entryFields - 3]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(fields[3+i], 10, 64); err != nil {
			return nil, wrong
		}
	}
	quoted, err := strconv.QuotedPrefix(fields[entryFields])
	if err != nil {
		return nil, wrong
	}
	by, err1 := strconv.Unquote(quoted)
	label, err2 := strconv.Unquote(strings.Trim(fields[entryFields][len(quoted):], " "))
	if err1 != nil || err2 != nil {
		return nil, wrong
	}
	e := &entry{
		phase: phase(fields[0][0]), client: undash(fields[1]), attempt: undash(fields[2]), mode: driver.Mode(n[0]), n: int(n[1]),
		keep: time.Duration(n[2]), broken: n[3] == 1, since: stamp(n[4]), token: uint64(n[5]), granted: stamp(n[6]), until: stamp(n[7]), wall: n[8],
		by: by, label: label, line: line,
	}
	owned := isID(e.client) && isID(e.attempt)
	switch {
	case e.phase != waiting && e.phase != holding && e.phase != kept && e.phase != ghost,
		e.phase == kept && (e.client != "" || e.attempt != ""), e.phase != kept && !owned,
		n[0] < int64(driver.Exclusive) || n[0] > int64(driver.Permits), n[1] < 0 || int64(e.n) != n[1], n[2] < 0, n[3] < 0 || n[3] > 1, n[5] < 0:
		return nil, wrong
	}
	return e, nil
}

func undash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// isID reports whether s is a client's id or an attempt's hash: 32 lower-case hexadecimal digits.
func isID(s string) bool { return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == "" }
