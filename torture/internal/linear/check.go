package linear

import (
	"fmt"
	"io"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast.dev/torture/internal/check"
	"holdfast.dev/torture/internal/history"
)

// Name is the checker's, in violations.
const Name = "linear"

// A Result is what is known about a history.
type Result struct {
	Violations []check.Violation
	Segments   int // that were decided apart from each other
	Operations int // grants, ends and refusals
	Unknown    int // segments that were not decided within the limit: each is a violation

	// Visual writes a page, with all that it needs in itself, on which to see the first segment that is not linearizable; the longest
	// one if all are.
	Visual func(w io.Writer) error
}

// Check decides whether a history is linearizable, lock by lock. Each segment may take as long as limit; 0 is as long as it takes.
// An error means that it is no history.
func Check(h *history.History, limit time.Duration) (Result, error) {
	r, err := newRound(h)
	if err != nil {
		return Result{}, err
	}
	var result Result
	var show *segment
	bad := false
	for i := range h.Meta.Locks {
		for _, s := range r.segments(uint16(i)) {
			result.Segments++
			result.Operations += len(s.ops)
			verdict := porcupine.CheckOperationsTimeout(s.model(), s.operations(), limit)
			if verdict != porcupine.Ok {
				result.Violations = append(result.Violations, r.violation(s, verdict, limit))
			}
			if verdict == porcupine.Unknown {
				result.Unknown++
			}
			if worse := verdict != porcupine.Ok; worse && !bad || worse == bad && !bad && (show == nil || len(s.ops) > len(show.ops)) {
				show, bad = s, worse
			}
		}
	}
	result.Visual = func(w io.Writer) error { return r.visual(w, show, bad) }
	return result, nil
}

// visual writes the page of a segment.
func (r *round) visual(w io.Writer, s *segment, bad bool) error {
	if s == nil {
		return fmt.Errorf("there is nothing to see: no lock was ever granted or refused")
	}
	m := s.model()
	if bad {
		m = s.plain()
	}
	_, info := porcupine.CheckOperationsVerbose(m, s.operations(), showing)
	info.AddAnnotations(r.annotations(s))
	return porcupine.Visualize(m, info, w)
}
