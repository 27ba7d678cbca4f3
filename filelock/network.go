package filelock

import "fmt"

// A volume is what is known of the file system that a directory is on.
type volume struct {
	network string // its name, if it may reach beyond this machine
	memory  bool   // it forgets everything when the machine is restarted
}

// check refuses a network file system that was not asked for.
func (v volume) check(allowed bool) error {
	if v.network == "" || allowed {
		return nil
	}
	return fmt.Errorf("it is on a network file system (%s), where a lock can outlive the process or the machine that took it, or be taken twice"+
		" after a broken connection: use a directory on a local disk, or a store that is made for several machines;"+
		" if you know that its locks can be relied on, add ?network=allow", v.network)
}
