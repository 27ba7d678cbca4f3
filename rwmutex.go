package holdfast

import "context"

// An RWMutex is a lock that one writer or any number of readers hold at a time. It has its name together with Mutex: the Mutex "x"
// and the writer of the RWMutex "x" are the same lock.
//
// It is fair: readers that come after a waiting writer wait behind it, and after a writer all readers up to the next one are
// granted together. These share one fencing token, greater than that of every writer before them and less than that of every
// writer after them.
//
// A writer may read: the reader nests in it, and the lock stays the writer's, alone, until the last of them is unlocked (there is no
// change from writing to reading). A reader may read again. A reader that wants to write gets ErrUpgrade.
type RWMutex struct{ target target }

// RWMutex returns the lock of that name. It never fails: a bad name or option is reported by Lock.
func (c *Client) RWMutex(name string, opts ...Option) *RWMutex {
	return &RWMutex{c.target(name, Exclusive, opts)}
}

// Name returns the name of the lock.
func (m *RWMutex) Name() string { return m.target.name }

// Lock waits until it holds the lock for writing. ErrUpgrade: ctx holds it for reading. See Locker.
func (m *RWMutex) Lock(ctx context.Context) (*Hold, error) { return m.target.lock(ctx, false) }

// TryLock takes the lock for writing if nobody holds it. ErrUpgrade: ctx holds it for reading. See Locker.
func (m *RWMutex) TryLock(ctx context.Context) (*Hold, error) { return m.target.lock(ctx, true) }

// Reader returns the lock as a reader takes it. A store without shared locks answers ErrUnsupported.
func (m *RWMutex) Reader() *Reader {
	r := &Reader{m.target}
	r.target.mode = Shared
	return r
}

// A Reader takes an RWMutex for reading.
type Reader struct{ target target }

// Name returns the name of the lock.
func (r *Reader) Name() string { return r.target.name }

// Lock waits until it holds the lock for reading. See Locker.
func (r *Reader) Lock(ctx context.Context) (*Hold, error) { return r.target.lock(ctx, false) }

// TryLock takes the lock for reading if no writer holds it or waits for it. See Locker.
func (r *Reader) TryLock(ctx context.Context) (*Hold, error) { return r.target.lock(ctx, true) }
