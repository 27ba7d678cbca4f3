package filelock

import (
	"os"
	"syscall"
)

// Types of file systems, from statfs(2) and the kernel's own list.
var networkTypes = map[uint32]string{
	0x6969:     "NFS",
	0x517B:     "SMB",
	0xFF534D42: "CIFS",
	0xFE534D42: "SMB2",
	0x01021997: "9P",
	0x65735546: "FUSE",
	0x5346414F: "AFS",
	0x6B414653: "AFS",
	0x00C36400: "Ceph",
	0x0BD00BD0: "Lustre",
	0x01161970: "GFS2",
	0x7461636F: "OCFS2",
	0x73757245: "Coda",
	0x564C:     "NCP",
	0x47504653: "GPFS",
	0xAAD7AAEA: "PanFS",
	0x19830326: "BeeGFS",
	0x20030528: "OrangeFS",
	0x786F4256: "VirtualBox shared folder",
	0xBACBACBC: "VMware shared folder",
}

var memoryTypes = map[uint32]bool{
	0x01021994: true, // tmpfs
	0x858458F6: true, // ramfs
}

// fileSystem says on what kind of file system a directory is.
func fileSystem(dir string) (volume, error) {
	var fs syscall.Statfs_t
	for {
		switch err := syscall.Statfs(dir, &fs); err {
		case nil:
			kind := uint32(fs.Type)
			return volume{network: networkTypes[kind], memory: memoryTypes[kind]}, nil
		case syscall.EINTR:
		default:
			return volume{}, &os.PathError{Op: "statfs", Path: dir, Err: err}
		}
	}
}
