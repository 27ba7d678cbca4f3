package guard

import (
	"encoding/binary"
	"encoding/hex"
)

// A kind of message. The numbers are between a program and itself: both ends are one executable.
type kind byte

const (
	begin kind = iota + 1
	watch
	until
	leave
)

// ID names a run.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// A message is written at once: a pipe never tears so few bytes.
type message struct {
	kind  kind
	id    ID    // begin
	value int64 // watch, until
}

const messageSize = 1 + len(ID{})

func (m message) encode() []byte {
	b := make([]byte, messageSize)
	b[0] = byte(m.kind)
	if m.kind == begin {
		copy(b[1:], m.id[:])
	} else {
		binary.LittleEndian.PutUint64(b[1:], uint64(m.value))
	}
	return b
}

func decode(b []byte) message {
	m := message{kind: kind(b[0])}
	if m.kind == begin {
		copy(m.id[:], b[1:])
	} else {
		m.value = int64(binary.LittleEndian.Uint64(b[1:]))
	}
	return m
}
