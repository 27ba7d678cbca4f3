package guard

import (
	"encoding/binary"
	"encoding/hex"
)

// A kind of message. The numbers are between a program and itself: both ends are one executable.
type kind byte

const (
	keep kind = iota + 1
	begin
	watch
	until
	leave
	pause
	resume
)

// ID names a run.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// A message has always the same size.
type message struct {
	kind  kind
	id    ID    // begin
	value int64 // begin: the program's session; watch, until, pause: what they say
}

const messageSize = 1 + len(ID{}) + 8

func (m message) encode() []byte {
	b := append([]byte{byte(m.kind)}, m.id[:]...)
	return binary.LittleEndian.AppendUint64(b, uint64(m.value))
}

func decode(b []byte) message {
	m := message{kind: kind(b[0]), value: int64(binary.LittleEndian.Uint64(b[1+len(ID{}):]))}
	copy(m.id[:], b[1:])
	return m
}
