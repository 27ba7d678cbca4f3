package fence

import (
	"errors"
	"fmt"
)

// Errors to compare with errors.Is.
var (
	// ErrStale: a newer token was seen. The hold that this one belongs to has ended, whatever its holder believes. See *StaleError.
	ErrStale = errors.New("stale token")

	// ErrNoToken: there is nothing to compare. The store gives no tokens (its Guarantees say so), or there is no hold.
	ErrNoToken = errors.New("no token")

	// ErrArgument: a function is nil: a mistake in the calling program.
	ErrArgument = errors.New("bad argument")
)

// A StaleError says which token was refused, and because of which. It is ErrStale.
type StaleError struct {
	Resource string
	Token    uint64 // the one that was refused
	Highest  uint64 // the greatest that was seen
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("fence: %q: token %d is stale, %d was seen: the lock has been granted to somebody else since; "+
		"drop this work, and begin again with a new hold", e.Resource, e.Token, e.Highest)
}

// Is makes a StaleError ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// A Fencer has a token to fence with, or says why not. A hold whose tokens do not follow each other, such as a permit of a
// semaphore, answers an error that is ErrUnsupported of package holdfast; a number alone could not tell.
type Fencer interface {
	FenceToken() (uint64, error)
}

// A Token is a Fencer for a token that came as a number, for instance with a request over the network. A number does not tell
// what it is the token of: whoever sent it must have made sure that it belongs to a lock, and not to a semaphore.
type Token uint64

// FenceToken returns the number, or ErrNoToken for zero.
func (t Token) FenceToken() (uint64, error) {
	if t == 0 {
		return 0, errNoToken
	}
	return uint64(t), nil
}

var errNoToken = fmt.Errorf("%w: take the lock first, or use a store that gives fencing tokens", ErrNoToken)

// tokenOf asks f for its token. It is never zero without an error.
func tokenOf(resource string, f Fencer) (uint64, error) {
	if f == nil {
		f = Token(0)
	}
	token, err := f.FenceToken()
	if err == nil && token == 0 {
		err = errNoToken
	}
	if err != nil {
		return 0, fmt.Errorf("fence: %q: %w", resource, err)
	}
	return token, nil
}
