//go:build unix

package holdfast_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"holdfast.dev"
	"holdfast.dev/filelock"
)

// A program that holds a lock has its work done by a command, and must not leave that running without the lock should it be killed
// itself. So it starts a guard, which gets the files that keep the lock, and reads from a pipe that ends with the program: then it
// ends the command, and only when it ends itself is the lock free. Unlock needs no guard.
func ExampleClient_Files() {
	dir, err := os.MkdirTemp("", "holdfast")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	locks, err := holdfast.Open(context.Background(), filelock.URL(filepath.Join(dir, "locks")))
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	err = locks.Do(context.Background(), "nightly report", func(ctx context.Context) error {
		work := exec.CommandContext(ctx, "sleep", "0.01")
		if err := work.Start(); err != nil {
			return err
		}
		files, err := locks.Files()
		if err != nil {
			return err
		}
		guard := exec.Command("sh", "-c", `read said; [ "$said" = done ] || kill -9 "$1"`, "guard", fmt.Sprint(work.Process.Pid))
		guard.ExtraFiles = files
		pipe, err := guard.StdinPipe()
		if err != nil {
			return err
		}
		if err := guard.Start(); err != nil {
			return err
		}
		for _, f := range files {
			f.Close() // the guard has them now
		}
		err = work.Wait()
		fmt.Fprintln(pipe, "done")
		fmt.Println("the work:", err)
		fmt.Println("its guard:", guard.Wait())
		return err
	})
	fmt.Println(err)
	// Output:
	// the work: <nil>
	// its guard: <nil>
	// <nil>
}
