// Package resource is what the locks of a torture run protect: two registers behind each lock, one that takes what it is given and
// one behind a fence. They live in the controller's process, which nothing is done to, and are reached by a socket, so that a worker
// that is stopped or killed has asked, or has not.
//
//  1. A register is a number, 0 at first. Whoever holds the lock reads it and writes the number one greater. Nothing is compared
//     with what is there: like most resources it would lose an update without a word.
//  2. Every read and write that took place is recorded (phase Applied), in the order in which it took place. So a write of n that found
//     something else than n−1 can be seen: somebody's update was lost.
//  3. The fenced register has a fence.Gate before it, as a user's resource would have, and every read and write passes it with the
//     token of its hold; the unfenced one has none. What the gate refuses is not applied. Controls can have a gate that is missing, or
//     that reads do not pass: GateNone, GateWrites.
//  4. A request whose sender has died meanwhile is carried out: the resource cannot know. That is what the fence is for.
//
// The wire is one request and one answer of fixed size at a time, on a connection for each worker.
package resource

import "encoding/binary"

// A Gate says which requests to the fenced register pass the fence.
type Gate string

// The gates. All but GateAll are wrong, and for controls.
const (
	GateAll    Gate = ""       // reads and writes
	GateWrites Gate = "writes" // reads pass beside it
	GateNone   Gate = "none"   // there is none
)

// A Request is one access.
type Request struct {
	Write   bool
	Fenced  bool
	Lock    uint16
	Worker  uint16
	Process uint32
	Attempt uint64
	Token   uint64
	Value   int64 // to write
}

// Answers on the wire.
const (
	answerOK    = 1
	answerStale = 2
)

const (
	requestSize = 34
	answerSize  = 9
)

func (r Request) encode() []byte {
	b := make([]byte, 0, requestSize)
	b = append(b, flag(r.Write), flag(r.Fenced))
	b = binary.LittleEndian.AppendUint16(b, r.Lock)
	b = binary.LittleEndian.AppendUint16(b, r.Worker)
	b = binary.LittleEndian.AppendUint32(b, r.Process)
	b = binary.LittleEndian.AppendUint64(b, r.Attempt)
	b = binary.LittleEndian.AppendUint64(b, r.Token)
	return binary.LittleEndian.AppendUint64(b, uint64(r.Value))
}

func decode(b []byte) Request {
	return Request{
		Write: b[0] != 0, Fenced: b[1] != 0,
		Lock:    binary.LittleEndian.Uint16(b[2:]),
		Worker:  binary.LittleEndian.Uint16(b[4:]),
		Process: binary.LittleEndian.Uint32(b[6:]),
		Attempt: binary.LittleEndian.Uint64(b[10:]),
		Token:   binary.LittleEndian.Uint64(b[18:]),
		Value:   int64(binary.LittleEndian.Uint64(b[26:])),
	}
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}
