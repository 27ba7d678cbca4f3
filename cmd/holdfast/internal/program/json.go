package program

import (
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// What ls and inspect print with --json. The names of the fields are part of the program's interface: scripts read them. Times are
// seconds.

type jsonLock struct {
	Name    string       `json:"name"`
	Kind    string       `json:"kind"`  // lock, semaphore
	Limit   *int         `json:"limit"` // of a semaphore in use
	Guard   float64      `json:"guard"` // > 0: the store grants nothing for so long
	Holders []jsonHolder `json:"holders"`
	Waiters []jsonWaiter `json:"waiters"` // in the order in which they will be served
}

type jsonHolder struct {
	Label   string   `json:"label"`
	Mode    string   `json:"mode"`    // exclusive, shared, permits
	Permits *int     `json:"permits"` // null unless the mode is permits
	Token   uint64   `json:"token"`
	Held    float64  `json:"held"`
	Left    *float64 `json:"left"`   // until the store lets go unless renewed; null: nothing runs out
	Kept    bool     `json:"kept"`   // released or dead, but its minimum hold is not over: nobody has it
	Broken  bool     `json:"broken"` // told to end
}

type jsonWaiter struct {
	Label   string  `json:"label"`
	Mode    string  `json:"mode"`
	Permits *int    `json:"permits"`
	Waited  float64 `json:"waited"`
}

// jsonHelp documents the fields for the help.
const jsonHelp = `
JSON: an object has name, kind ("lock" or "semaphore"), limit (of a semaphore,
else null), guard, holders and waiters. A holder has label, mode ("exclusive",
"shared" or "permits"), permits (else null), token, held, left (null: nothing
runs out), kept and broken; a waiter label, mode, permits and waited. Times are
seconds.`

func asJSON(info *holdfast.Info) *jsonLock {
	l := &jsonLock{Name: info.Name, Kind: "lock", Guard: info.Guard.Seconds(), Holders: []jsonHolder{}, Waiters: []jsonWaiter{}}
	if info.Mode == holdfast.Permits {
		l.Kind = "semaphore"
		if info.Limit > 0 {
			l.Limit = &info.Limit
		}
	}
	for _, h := range info.Holders {
		l.Holders = append(l.Holders, jsonHolder{
			Label: h.Label, Mode: h.Mode.String(), Permits: permits(h.Mode, h.N), Token: h.Token,
			Held: h.Held.Seconds(), Left: seconds64(h.Left), Kept: h.Kept, Broken: h.Broken,
		})
	}
	for _, w := range info.Waiters {
		l.Waiters = append(l.Waiters, jsonWaiter{
			Label: w.Label, Mode: w.Mode.String(), Permits: permits(w.Mode, w.N), Waited: w.Waited.Seconds(),
		})
	}
	return l
}

func permits(mode holdfast.Mode, n int) *int {
	if mode != holdfast.Permits {
		return nil
	}
	return &n
}

func seconds64(d time.Duration) *float64 {
	if d == driver.Forever {
		return nil
	}
	s := d.Seconds()
	return &s
}
