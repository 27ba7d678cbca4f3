package filelock

import (
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"
)

var getDriveType = syscall.NewLazyDLL("kernel32.dll").NewProc("GetDriveTypeW")

// fileSystem says on what kind of drive a directory is.
func fileSystem(dir string) (volume, error) {
	const remote = 4 // DRIVE_REMOTE
	root := filepath.VolumeName(dir) + `\`
	if strings.HasPrefix(root, `\\`) {
		return volume{network: "network share"}, nil
	}
	name, err := syscall.UTF16PtrFromString(root)
	if err != nil {
		return volume{}, err
	}
	if kind, _, _ := getDriveType.Call(uintptr(unsafe.Pointer(name))); kind == remote {
		return volume{network: "network drive"}, nil
	}
	return volume{}, nil
}
