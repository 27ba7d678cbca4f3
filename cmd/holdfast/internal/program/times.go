package program

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// longest is more than anybody waits: beyond it durations overflow.
const longest = 100 * 365 * 24 * time.Hour

var errTime = errors.New("takes a time: seconds such as 10 or 0.5, or 500ms, 30s, 5m, 2h")

// A span is a flag's value: plain seconds, also with a fraction, or a duration of Go's.
type span struct {
	time.Duration
	given bool
}

// Type is shown in the help.
func (s *span) Type() string { return "TIME" }

func (s *span) String() string {
	if s.Duration == 0 {
		return ""
	}
	return s.Duration.String()
}

// Set reads a value of the command line.
func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if strings.Trim(text, "+-.0123456789eE") == "" {
		d, err = seconds(text)
	}
	if err != nil || d < 0 || d > longest {
		return errTime
	}
	s.Duration, s.given = d, true
	return nil
}

// seconds reads a plain number. Less than a nanosecond is not nothing: -w 0 means something else.
func seconds(text string) (time.Duration, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > longest.Seconds() {
		return 0, errTime
	}
	d := time.Duration(f * float64(time.Second))
	if f > 0 && d == 0 {
		d = 1
	}
	return d, nil
}
