package program

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"holdfast.dev/driver"
)

// A store in a directory makes that directory when it is opened. A path that is mistyped would so become a store where nobody else has
// locks: it excludes nobody, and looks as if it did. So the program looks before it opens one.

// missing returns the directory of a file:// store that does not exist, and the uppermost directory on the way to it that does not
// exist either. Both are "" if there is nothing to say: it exists, or it is another kind of store, or only opening it can tell.
func missing(url string) (dir, top string) {
	u, err := driver.ParseURL(url)
	if err != nil || u.Scheme != "file" {
		return "", ""
	}
	if dir = filepath.FromSlash(u.Path); runtime.GOOS == "windows" {
		dir = strings.TrimPrefix(dir, `\`) // which stands before the drive
	}
	if dir = filepath.Clean(dir); !filepath.IsAbs(dir) || !isMissing(dir) {
		return "", ""
	}
	top = dir
	for above := filepath.Dir(top); above != top && isMissing(above); above = filepath.Dir(top) {
		top = above
	}
	return dir, top
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// noteNewStore says that a run makes a store, if more than its last directory is new: whoever sets a store up has made the directory
// around it, and whoever mistyped its path has not.
func (p *program) noteNewStore(url string) {
	if dir, top := missing(url); dir != top {
		p.voice.Notef("there is no directory %s yet; making it, and in it a new store, %s: if others have locks there, the path is wrong",
			top, dir)
	}
}

// noteNoStore says that a store that was named does not exist, and reports whether it said so.
func (p *program) noteNoStore(given bool, dir string) bool {
	if p.isNamed(given) {
		p.voice.Notef("there is no directory %s, so nobody holds or waits for a lock there; is the path right?", dir)
	}
	return p.isNamed(given)
}
