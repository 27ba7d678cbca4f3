//go:build unix

package filelock

import (
	"fmt"
	"os"
	"syscall"
)

// errQuota: a user's part of the disk is full.
const errQuota = syscall.EDQUOT

// modesCount: the mode of a directory says who can write into it.
const modesCount = true

// inodesShow: package os shows the inode of a file.
const inodesShow = true

// checkOurs refuses what does not belong to the user whom this process runs as: what it says could be anybody's word.
func checkOurs(info os.FileInfo) error {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if euid := os.Geteuid(); ok && int(sys.Uid) != euid {
		return fmt.Errorf("it belongs to user %d, and this process runs as user %d", sys.Uid, euid)
	}
	return nil
}

// checkPrivate refuses a file that others can read or write, or that has a second name somewhere else.
func checkPrivate(info os.FileInfo) error {
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("its mode is %#o, so others can open it, which we never allow: find out who changed that, then set it to 0600", perm)
	}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok && sys.Nlink > 1 {
		return fmt.Errorf("it has %d names (hard links), and we make one: remove the others, or it", sys.Nlink)
	}
	return nil
}

// inode is a number that no other file on the same disk has, for as long as this one exists.
func inode(info os.FileInfo) uint64 {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(sys.Ino)
}
