package filelock

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// Rule: a check sum is the same however it is computed. A record is written by one process and read by others, which may have summed
// little or much.
func TestChecksumIsTheSameByBothTables(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	want := crc32.MakeTable(crc32.Castagnoli)
	text := make([]byte, 5000)
	for i := range text {
		text[i] = byte(random.Uint32())
	}
	before := summed.Load()
	defer summed.Store(before)
	for n := 0; n <= len(text); n += 1 + n/8 {
		for _, already := range []int64{0, slowly} { // by the plain table, by the fast one
			summed.Store(already)
			if got := checksum(text[:n]); got != crc32.Checksum(text[:n], want) {
				t.Fatalf("%d bytes after %d: %08x, want %08x (seed %d)", n, already, got, crc32.Checksum(text[:n], want), seed)
			}
		}
	}
	if checksum([]byte("123456789")) != 0xe3069283 { // the check value that is published for CRC-32C
		t.Error("it is another sum")
	}
}

// Rule: a clock has the same name in every process, also in one that was built when the name was computed in another way.
func TestBootNameIsIEEE(t *testing.T) {
	if got := bootName("123456789"); got != "boot-cbf43926" { // the check value that is published for CRC-32
		t.Errorf("it is %s", got)
	}
}
