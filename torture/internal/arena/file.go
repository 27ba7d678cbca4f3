package arena

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/filelock"
)

// file is file://, a directory of this machine.
func file() Kind {
	return Kind{Name: "file", Assumptions: filelock.Assumptions,
		Start: func(_ context.Context, o Options) (Arena, error) {
			return &fileArena{filepath.Join(o.Dir, "locks"), o.TTL}, nil
		}}
}

type fileArena struct {
	dir string
	ttl time.Duration
}

func (a *fileArena) Store(int) string             { return filelock.URL(a.dir) }
func (a *fileArena) Settle(context.Context) error { return nil }
func (a *fileArena) Versions() []string           { return nil }
func (a *fileArena) Close() error                 { return nil }

func (a *fileArena) Causes() map[driver.Fault]Cause {
	processes := only(processCauses(), driver.WorkerStop, driver.WorkerStopInside, driver.WorkerKill, driver.Starve, driver.BreakNow)
	return merge(processes, map[driver.Fault]Cause{
		// Who comes is refused until the holder has ended, which may keep the lock for three TTLs.
		driver.Unlink: {Loses: true, Heals: 4 * a.ttl, Do: func(_ context.Context, s *Scene) error {
			files, err := a.files()
			if err != nil || len(files) == 0 {
				return err // nothing is held just now
			}
			err = os.Remove(files[s.Random.IntN(len(files))])
			if os.IsNotExist(err) { // its lock was released meanwhile
				return nil
			}
			return err
		}},
	})
}

// files are those of locks.
func (a *fileArena) files() ([]string, error) {
	var files []string
	err := filepath.WalkDir(filepath.Join(a.dir, "locks"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	})
	return files, err
}

// Left: a client that opens and closes the directory clears what processes left that were killed; then the record is all that is there.
func (a *fileArena) Left(ctx context.Context) ([]string, error) {
	store, err := filelock.Open(ctx, a.dir)
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	var left []string
	err = filepath.WalkDir(a.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path != filepath.Join(a.dir, "holdfast") {
			left = append(left, filepath.Base(path))
		}
		return err
	})
	return left, err
}
