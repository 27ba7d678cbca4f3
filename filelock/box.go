package filelock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A box is a part of a file that keeps one text through kill −9 at any instruction: a reader sees the last text that was written
// completely, and a write that failed has changed nothing.
//
//	0    header        64 bytes: see encodeHeader
//	512  header        the other one
//	1024 region        size bytes
//	1024+size region   the other one
//
// A write goes to the region that is not in use, and then to the header that is not in use, in that order: the header says where
// the text is, and its sequence number, greater by one, makes it the one in use. Both regions are written in full when they are
// made, so later writes need no space of the disk. A text that is too long for its region gets regions of twice the size, or more: the
// new second one lies behind everything that was there before, and the new first one is what was there before and what is between,
// which is written too. (A file system that never writes in place, such as btrfs or ZFS, may need space all the same.)
type box struct {
	file  boxFile
	base  int64  // where it begins
	magic string // 16 bytes: what the file is, for people too

	born uint64 // random; the same for as long as the file is the same one
	seq  uint64 // of the header in use; 0: nothing was ever written
	slot int    // which header is in use
	off  int64  // where the text is, from base
	size int64  // of a region
	torn bool   // a header that is neither blank nor valid was seen
	page []byte // to read into; nil: a new one each time
}

// A boxFile is what a box needs of a file.
type boxFile interface {
	io.ReaderAt
	io.WriterAt
}

const (
	headerLen   = 64
	headerSpace = 512
	regionBase  = 2 * headerSpace
	firstRegion = 1536 // so that headers and regions are 4096 bytes together: one block
	firstLook   = regionBase + 2*firstRegion
	maxText     = 1 << 24
)

var (
	errBlank   = errors.New("it is empty")
	errDamaged = errors.New("its content is damaged, or not ours")
	errUnsure  = errors.New("it may have been written, or not")
)

// read returns the text, or errBlank, or an error that is errDamaged. With fallback, a text that does not match its check sum is
// replaced by the one before: after a power failure that is the last one that was written completely.
func (b *box) read(fallback bool) ([]byte, error) { return b.readUnless(0, 0, fallback) }

// readUnless is read, but returns nil if the text is the one of that number in the file that was born so: the caller knows it.
func (b *box) readUnless(born, seq uint64, fallback bool) ([]byte, error) {
	page := b.page
	if page == nil {
		page = make([]byte, firstLook)
	}
	n, err := b.file.ReadAt(page, b.base)
	if err != nil && err != io.EOF {
		return nil, err
	}
	page = page[:n]
	var slots []box
	b.torn = false
	for slot := range 2 {
		if from := slot * headerSpace; from+headerLen <= n {
			header := page[from : from+headerLen]
			if found, ok := b.decodeHeader(header, slot); ok {
				slots = append(slots, found)
			} else if len(bytes.Trim(header, "\x00")) > 0 {
				b.torn = true
			}
		}
	}
	if len(slots) == 2 && slots[1].seq > slots[0].seq {
		slots[0], slots[1] = slots[1], slots[0]
	}
	if len(slots) == 0 {
		if b.blank(page[:min(n, regionBase)]) {
			return nil, errBlank
		}
		return nil, errDamaged
	}
	if slots[0].seq == seq && slots[0].born == born {
		*b = slots[0]
		return nil, nil
	}
	for _, found := range slots {
		text, err := found.text(page)
		if err != nil && fallback && errors.Is(err, errDamaged) {
			continue
		}
		found.torn = b.torn
		*b = found
		return text, err
	}
	return nil, errDamaged
}

// blank reports whether no header was ever written: there is nothing, or the beginning of the very first one, whose writer was
// killed. That lacks its last byte; one that was damaged later does not.
func (b *box) blank(headers []byte) bool {
	begun := bytes.TrimRight(headers, "\x00")
	known := min(len(begun), len(b.magic))
	return len(begun) < headerLen && string(begun[:known]) == b.magic[:known]
}

// text reads the text that a header points to, and checks it. The header's length and check sum stand in page.
func (b *box) text(page []byte) ([]byte, error) {
	header := page[b.slot*headerSpace:]
	length, sum := int64(binary.BigEndian.Uint32(header[36:])), binary.BigEndian.Uint32(header[44:])
	var text []byte
	if b.off+length <= int64(len(page)) {
		text = page[b.off : b.off+length]
	} else {
		text = make([]byte, length)
		if _, err := b.file.ReadAt(text, b.base+b.off); err == io.EOF {
			return nil, fmt.Errorf("%w: it is shorter than it says", errDamaged)
		} else if err != nil {
			return nil, err
		}
	}
	if checksum(text) != sum {
		return nil, fmt.Errorf("%w: a check sum is wrong", errDamaged)
	}
	return text, nil
}

// write replaces the text. If it fails nothing has changed, unless the error is errUnsure.
func (b *box) write(text []byte) error {
	next, fill := b.next(int64(len(text)))
	if next.off+int64(len(text)) > maxText {
		return fmt.Errorf("%d bytes are more than a file may have", len(text))
	}
	region := text
	if fill {
		region = make([]byte, next.size)
		copy(region, text)
	}
	if b.seq == 0 { // all of the first block at once, but for the header
		page := make([]byte, next.off+next.size)
		copy(page[next.off:], text)
		if _, err := b.file.WriteAt(page, b.base); err != nil {
			return err
		}
	} else if err := b.writeRegion(&next, region); err != nil {
		return err
	}
	if _, err := b.file.WriteAt(next.encodeHeader(text), b.base+int64(next.slot)*headerSpace); err != nil {
		return fmt.Errorf("%w: %w", errUnsure, err)
	}
	*b = next
	return nil
}

// writeRegion writes a region, and all that is between the end of the file and it: later, smaller texts go there.
func (b *box) writeRegion(next *box, region []byte) error {
	from := next.off
	if end := regionBase + 2*b.size; from > end {
		from = end
		region = append(make([]byte, next.off-end), region...)
	}
	_, err := b.file.WriteAt(region, b.base+from)
	return err
}

// next is where a text of that length goes, and whether its whole region must be written, to have its space.
func (b *box) next(length int64) (next box, fill bool) {
	next = *b
	next.seq++
	next.slot = 1 - b.slot
	if b.seq == 0 {
		next.slot, next.size = 0, firstRegion
		for next.size < length {
			next.size *= 2
		}
		next.off = regionBase + next.size // the second: writing it from the beginning of the file allocates the first too
		return next, true
	}
	if length <= b.size {
		next.off = regionBase
		if b.off == regionBase {
			next.off += b.size
		}
		return next, false
	}
	for next.size < length {
		next.size *= 2
	}
	next.off = regionBase + next.size
	return next, true
}

// encodeHeader writes: magic 16, born 8, seq 8, off 4, length 4, size 4, sum of the text 4, sum of all this 4, and a last byte.
func (b *box) encodeHeader(text []byte) []byte {
	h := make([]byte, headerLen)
	copy(h, b.magic)
	binary.BigEndian.PutUint64(h[16:], b.born)
	binary.BigEndian.PutUint64(h[24:], b.seq)
	binary.BigEndian.PutUint32(h[32:], uint32(b.off))
	binary.BigEndian.PutUint32(h[36:], uint32(len(text)))
	binary.BigEndian.PutUint32(h[40:], uint32(b.size))
	binary.BigEndian.PutUint32(h[44:], checksum(text))
	binary.BigEndian.PutUint32(h[48:], checksum(h[:48]))
	h[headerLen-1] = '\n'
	return h
}

// decodeHeader reads what encodeHeader wrote, and refuses everything else.
func (b *box) decodeHeader(h []byte, slot int) (box, bool) {
	found := *b
	found.slot = slot
	found.born = binary.BigEndian.Uint64(h[16:])
	found.seq = binary.BigEndian.Uint64(h[24:])
	found.off = int64(binary.BigEndian.Uint32(h[32:]))
	length := int64(binary.BigEndian.Uint32(h[36:]))
	found.size = int64(binary.BigEndian.Uint32(h[40:]))
	ok := string(h[:16]) == b.magic && binary.BigEndian.Uint32(h[48:]) == checksum(h[:48]) &&
		found.seq > 0 && found.size >= firstRegion && found.size <= maxText && length <= found.size &&
		(found.off == regionBase || found.off == regionBase+found.size)
	return found, ok
}
