package holdfast

import (
	"context"
	"os"

	"holdfast.dev/driver"
)

// Files returns copies of the files whose being open keeps this client's holds, on a store where nothing else does: one in a directory
// (file://), where a hold ends with its process. Other stores answer ErrUnsupported: their holds have TTLs, which outlive a process
// anyway.
//
// It is for a program that has its work done by other processes. If the program is killed (kill −9, out of memory) its locks are free
// at once, but its children go on, beside the next holder's. So it starts a guard, a small process that is given these files and one
// end of a pipe, ends the children when the pipe ends, and then itself. As long as the guard has the files open, all that the
// program held stays held; when it has ended, the next one gets it.
//
// The copies stand for all that the client holds, now and later; while it lives they change nothing, Unlock and Close included. Close
// them when they have been handed on. Only processes to which they are given inherit them (exec.Cmd.ExtraFiles); one that keeps
// them open for longer than it must keeps a dead program's locks from everybody.
func (c *Client) Files() ([]*os.File, error) {
	return ask(context.Background(), c, "files", "", func(context.Context) ([]*os.File, error) {
		keeper, ok := c.store.(driver.Keeper)
		if !ok {
			return nil, ErrUnsupported
		}
		return keeper.Files()
	})
}
