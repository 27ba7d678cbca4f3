//go:build !unix

package filelock

import (
	"errors"
	"os"
)

// errQuota: here a user's part of the disk that is full is a disk that is full.
var errQuota = errors.New("disk quota exceeded")

// modesCount: what is shown as a mode says nothing here.
const modesCount = false

// inodesShow: see inode.
const inodesShow = false

// checkOurs: the owner and the mode of a file mean nothing here; what protects a directory is its access list, which new
// files inherit. Use a directory below the user's own profile.
func checkOurs(os.FileInfo) error { return nil }

func checkPrivate(os.FileInfo) error { return nil }

// inode: package os does not show such a number here, so a file that was put in another one's place is not noticed.
func inode(os.FileInfo) uint64 { return 0 }
