package locktest

import (
	"strings"
	"sync"
	"testing"
)

// A topic is a group of cases about one thing; it has a file of its own.
type topic struct {
	name  string
	cases []casus
}

// A casus is one case: the rule that it checks, and how.
type casus struct {
	name  string
	needs needs
	run   func(t *trial)
	rule  string // begins with the rule's name; see the package comment
}

// beside lists the topics whose cases run beside each other.
var beside = []topic{
	loss, unknown, processes, renewal, expiry, validity, keeping, undo, // the longest first
	exclusion, fencing, idempotence, cancelling, order, waking, readers, permits, reentry, rwmutex, semaphore, multi, election, names, failures, inspection, breaking,
	closing, files, denied,
}

// alone lists the topics whose cases look at the whole process, and so run one after the other when the others have ended.
var alone = []topic{leaks}

// atOnce is how many cases run beside each other. Most of them wait, so it is more than there are processors.
const atOnce = 16

// runBeside starts cases on goroutines of its own, because t.Parallel would run no more of them at once than there are
// processors. Each topic is a subtest, and each case one of it, so that -run selects them: -run 'Conformance/fencing/expiry'.
func (k *kit) runBeside(t *testing.T, topics []topic) {
	places := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for _, topic := range topics {
		applying := k.applying(topic)
		if len(applying) == 0 {
			continue
		}
		running.Go(func() {
			t.Run(topic.name, func(t *testing.T) {
				var cases sync.WaitGroup
				for _, c := range applying {
					cases.Go(func() {
						places <- struct{}{}
						defer func() { <-places }()
						k.runCase(t, topic, c)
					})
				}
				cases.Wait()
			})
		})
	}
	running.Wait()
}

func (k *kit) runAlone(t *testing.T, topics []topic) {
	for _, topic := range topics {
		t.Run(topic.name, func(t *testing.T) {
			for _, c := range k.applying(topic) {
				k.runCase(t, topic, c)
			}
		})
	}
}

func (k *kit) applying(topic topic) []casus {
	var cases []casus
	for _, c := range topic.cases {
		if k.missing(c.needs) == "" {
			cases = append(cases, c)
		}
	}
	return cases
}

// sayWhatDoesNotApply logs which cases are left out, and why: nothing is left out in silence.
func (k *kit) sayWhatDoesNotApply(t *testing.T) {
	because := make(map[string][]string)
	var reasons []string
	for _, topics := range [][]topic{beside, alone} {
		for _, topic := range topics {
			for _, c := range topic.cases {
				why := k.missing(c.needs)
				if why == "" || c.needs&denials != 0 {
					continue
				}
				if because[why] == nil {
					reasons = append(reasons, why)
				}
				because[why] = append(because[why], topic.name+"/"+c.name)
			}
		}
	}
	for _, why := range reasons {
		t.Logf("do not apply, because %s: %s", why, strings.Join(because[why], ", "))
	}
}
