package history

import (
	"encoding/binary"
	"fmt"

	"holdfast.dev/driver"
)

// An Op is what a record is about.
type Op uint8

// The operations.
const (
	Acquire Op = iota + 1
	Hold
	Release
	Read
	Write
	Inspect
	Process
	Fault
	Round
)

// A Phase is which moment of it.
type Phase uint8

// The phases. Each belongs to some operations only: see the package comment.
const (
	Asked Phase = iota + 1
	Queued
	Done
	Renewed
	Claimed
	LossTold
	Applied
	Started
	Stopped
	Continued
	Killed
	Ended
	Rest
	Began
	Healed
	Draining
	Drained
	Leak
	Starved
)

// An Outcome is how it ended.
type Outcome uint8

// The outcomes. Those from Expired on are reasons of a loss.
const (
	None    Outcome = iota
	OK              // it was done
	Granted         // Acquire
	Held            // Acquire: somebody has it
	GaveUp          // Acquire: the caller's own deadline; what it may have left is undone, or will be
	Guarded         // Acquire: the store grants nothing to anybody for now
	Stale           // Read, Write: the fence has seen a greater token
	Lost            // Release: the hold was lost before
	Failed          // nobody knows: it may have happened
	Expired         // the hold ran out
	Taken           // the store does not know it any more
	Session         // the session ended
	Broken          // an administrator
	MaxHold         // its own limit
)

// A Way is how a lock is asked for: the Value of Acquire Asked.
type Way int64

// The ways.
const (
	ByLock   Way = iota + 1 // Lock, for as long as it takes
	ByTry                   // TryLock
	ByWait                  // Lock, with a deadline that may be too short
	ByLeader                // Election.Campaign
)

// A Flag is a mark.
type Flag uint8

// The flags.
const (
	Fenced      Flag = 1 << iota // Read, Write: the register behind the fence
	Goroutines                   // Rest
	Descriptors                  // Rest
)

// A Record is one moment. Fields that its operation does not need are zero.
type Record struct {
	At      driver.Instant
	Attempt uint64 // one call of Lock
	Token   uint64
	Value   int64
	Process uint32 // the number of a worker process; every one that is started in a round has its own. 0: the controller
	Worker  uint16 // which of the workers; a process has one or more
	Lock    uint16 // an index into Meta.Locks, or Meta.Faults
	Op      Op
	Phase   Phase
	Outcome Outcome
	Flags   Flag
}

// Size is that of an encoded record: its 44 bytes, and 4 of a sum that tells a torn write.
const Size = 48

// append adds the encoded record to b.
func (r Record) append(b []byte) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.At))
	b = binary.LittleEndian.AppendUint64(b, r.Attempt)
	b = binary.LittleEndian.AppendUint64(b, r.Token)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Value))
	b = binary.LittleEndian.AppendUint32(b, r.Process)
	b = binary.LittleEndian.AppendUint16(b, r.Worker)
	b = binary.LittleEndian.AppendUint16(b, r.Lock)
	b = append(b, byte(r.Op), byte(r.Phase), byte(r.Outcome), byte(r.Flags))
	return binary.LittleEndian.AppendUint32(b, sum(b[start:]))
}

// decode reads a record from Size bytes.
func decode(b []byte) (Record, error) {
	if got, want := sum(b[:Size-4]), binary.LittleEndian.Uint32(b[Size-4:]); got != want {
		return Record{}, fmt.Errorf("a record is damaged: its sum is %08x, and should be %08x", got, want)
	}
	return Record{
		At:      driver.Instant(binary.LittleEndian.Uint64(b)),
		Attempt: binary.LittleEndian.Uint64(b[8:]),
		Token:   binary.LittleEndian.Uint64(b[16:]),
		Value:   int64(binary.LittleEndian.Uint64(b[24:])),
		Process: binary.LittleEndian.Uint32(b[32:]),
		Worker:  binary.LittleEndian.Uint16(b[36:]),
		Lock:    binary.LittleEndian.Uint16(b[38:]),
		Op:      Op(b[40]), Phase: Phase(b[41]), Outcome: Outcome(b[42]), Flags: Flag(b[43]),
	}, nil
}
