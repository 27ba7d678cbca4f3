package holdfast_test

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// What docs/coming-from.md must have a row for: the methods of RLock, of RLockAsync and of what gives out locks; all of redsync v4; what
// most use of node-redlock, 4 and 5, and of the others.
const (
	redissonMethods = `getLock getName lock lock(leaseTime tryLock tryLock(waitTime,unit tryLock(waitTime,leaseTime lockInterruptibly
		lockInterruptibly(leaseTime unlock forceUnlock isLocked isHeldByCurrentThread isHeldByThread getHoldCount remainTimeToLive
		newCondition lockAsync lockAsync(leaseTime lockAsync(threadId lockAsync(leaseTime,unit,threadId tryLockAsync tryLockAsync(waitTime,unit
		tryLockAsync(waitTime,leaseTime,unit tryLockAsync(threadId tryLockAsync(waitTime,leaseTime,unit,threadId unlockAsync
		unlockAsync(threadId forceUnlockAsync isLockedAsync isHeldByThreadAsync getHoldCountAsync remainTimeToLiveAsync getFairLock
		getReadWriteLock readLock writeLock getMultiLock getSemaphore acquire tryAcquire(permits) tryAcquire(permits,waitTime release
		availablePermits drainPermits addPermits trySetPermits getPermitExpirableSemaphore updateLeaseTime getFencedLock lockAndGetToken
		getSpinLock lockWatchdogTimeout`
	redsyncMethods = `New NewMutex Option OptionFunc Mutex.Name Mutex.Value Mutex.Until Mutex.Lock Mutex.LockContext Mutex.TryLock
		Mutex.TryLockContext Mutex.Unlock Mutex.UnlockContext Mutex.Extend Mutex.ExtendContext Mutex.Valid Mutex.ValidContext WithExpiry
		WithTries WithRetryDelay WithRetryDelayFunc DelayFunc WithSetNXOnExtend WithDriftFactor WithTimeoutFactor WithGenValueFunc WithValue
		WithFailFast WithShufflePools ErrFailed ErrTaken ErrNodeTaken ErrLockAlreadyExpired ErrExtendFailed RedisError`
	nodeRedlockMethods = `acquire release extend using lock unlock disposer quit retryCount retryDelay retryJitter driftFactor
		automaticExtensionThreshold ExecutionError ResourceLockedError LockError`
	syncMethods         = `RWMutex Mutex Lock Unlock TryLock RLock RUnlock RLocker TryRLock`
	weightedMethods     = `NewWeighted Weighted.Acquire Weighted.TryAcquire Weighted.Release`
	etcdMutexMethods    = `NewSession Session.Done NewMutex Mutex.Lock Mutex.TryLock Mutex.Unlock Mutex.Header Mutex.IsOwner NewLocker ErrLocked`
	etcdElectionMethods = `NewElection ResumeElection Election.Campaign Election.Resign Election.Proclaim Election.Leader Election.Observe
		Election.Rev ErrElectionNoLeader`
)

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	thrown   = regexp.MustCompile(`_, err :?= .*\.(Try)?(Lock|Acquire|Campaign)\(`)
	counts   = regexp.MustCompile(`(\d+) rows, (\d+) of them not there`)
)

// Rule: docs/coming-from.md and the examples agree. Every row has a line of Go that stands in an example, or says that there is none and
// why; the rows that say so are counted; nothing that users look for is missing.
func TestComingFrom(t *testing.T) {
	text, err := os.ReadFile("docs/coming-from.md")
	if err != nil {
		t.Fatal(err)
	}
	for section, want := range map[string]struct{ methods, examples string }{
		"Redisson": {redissonMethods, "example_redisson*_test.go"},
		"redsync":  {redsyncMethods, "example_redsync*_test.go"},

		"node-redlock": {nodeRedlockMethods, "example_noderedlock_test.go"},

		"sync.RWMutex":                {syncMethods, "example_peers_test.go"},
		"golang.org/x/sync/semaphore": {weightedMethods, "example_peers_test.go"},
		"etcd's Mutex":                {etcdMutexMethods, "example_peers_test.go"},
		"etcd's Election":             {etcdElectionMethods, "example_peers_test.go"},
	} {
		_, part, found := strings.Cut(string(text), "\n## "+section+"\n")
		if !found {
			t.Fatalf("no section %s", section)
		}
		part, _, _ = strings.Cut(part, "\n## ")
		checkSection(t, section, part, want.methods, exampleCode(t, want.examples))
	}
}

// checkSection checks one table, of which code is what the examples run.
func checkSection(t *testing.T, section, part, methods, code string) {
	var theirs strings.Builder
	rows, missing := 0, 0
	for line := range strings.Lines(part) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 {
			t.Errorf("%s: %d cells, want 3: %s", section, len(cells), line)
			continue
		}
		rows++
		theirs.WriteString(squeeze(cells[0]))
		for _, span := range codeSpan.FindAllString(cells[2], -1) { // a method may be named behind another of its kind
			if strings.Contains(span, "(") {
				theirs.WriteString(squeeze(span))
			}
		}
		here := strings.TrimSpace(cells[1])
		if here == "not there" {
			if missing++; strings.TrimSpace(cells[2]) == "" {
				t.Errorf("%s: not there, without a reason: %s", section, line)
			}
			continue
		}
		span := codeSpan.FindStringSubmatch(here)
		if span == nil || span[0] != here {
			t.Errorf("%s: not one line of Go: %s", section, here)
		} else if !strings.Contains(code, squeeze(span[1])) {
			t.Errorf("%s: no example runs %s", section, span[1])
		} else if thrown.MatchString(span[1]) {
			t.Errorf("%s: whoever copies %s throws the hold away", section, span[1])
		}
	}
	for _, m := range strings.Fields(methods) {
		if !regexp.MustCompile("[`]" + regexp.QuoteMeta(m) + "[^A-Za-z]").MatchString(theirs.String()) {
			t.Errorf("%s: no row for %s", section, m)
		}
	}
	said := counts.FindStringSubmatch(part)
	if said == nil || said[1] != strconv.Itoa(rows) || said[2] != strconv.Itoa(missing) {
		t.Errorf("%s has %d rows, %d of them not there; it says %q", section, rows, missing, said)
	}
}

// exampleCode returns the statements of all examples of some files, without comments and white space. Each example must be run, so it
// must say what it prints.
func exampleCode(t *testing.T, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	var code bytes.Buffer
	for _, path := range paths {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		examples := doc.Examples(file)
		if len(examples) == 0 {
			t.Errorf("%s has no examples", path)
		}
		for _, e := range examples {
			if e.Output == "" {
				t.Errorf("%s: Example%s says nothing of its output, so it is not run", path, e.Name)
			}
			for _, s := range e.Code.(*ast.BlockStmt).List { // statement by statement: the printer adds no comments
				if err := printer.Fprint(&code, files, s); err != nil {
					t.Fatal(err)
				}
				code.WriteString("\n")
			}
		}
	}
	return squeeze(code.String())
}

// squeeze takes the white space out, which gofmt and a table put in different places, and the semicolons that stand for line ends.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == ';' {
			return -1
		}
		return r
	}, s)
}
