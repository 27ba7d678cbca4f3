package filelock

import (
	"hash/crc32"
	"sync"
	"sync/atomic"
)

// checksum is the CRC-32C of a text. Package crc32 has the processor compute it, by tables that take a quarter of a millisecond to
// make: several times as long as to lock and unlock, and a program that locks once has no use for them. So the first texts are
// summed by a table that is made in a few microseconds, until so much has been summed that speed counts.
func checksum(text []byte) uint32 {
	if summed.Add(int64(len(text))) <= slowly {
		return crc32.Checksum(text, plainTable())
	}
	return crc32.Checksum(text, fastTable())
}

// slowly is how many bytes are summed by the plain table: several locks' worth, in less time than it takes to make the other.
const slowly = 32 << 10

var (
	summed    atomic.Int64
	fastTable = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

	plainTable = sync.OnceValue(func() *crc32.Table {
		var table crc32.Table
		for i := range table {
			sum := uint32(i)
			for range 8 {
				if sum&1 == 0 {
					sum >>= 1
				} else {
					sum = sum>>1 ^ crc32.Castagnoli
				}
			}
			table[i] = sum
		}
		return &table
	})
)
