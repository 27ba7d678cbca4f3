package filelock

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"holdfast.dev/driver"
)

func init() { driver.Register("file", openURL) }

const onWindows = runtime.GOOS == "windows"

// URL is the URL of a directory for holdfast.Open, percent-encoded: file:///var/lib/locks, on Windows file:///C:/locks. A relative
// path counts from the directory in which the process is now. "" and a path that begins with ~, which only a shell replaces,
// become URLs that Open refuses: a setting that is missing is not the current directory.
func URL(dir string) string {
	if home := strings.HasPrefix(dir, "~") && (len(dir) == 1 || os.IsPathSeparator(dir[1])); home || dir == "" {
		return "file://" + escape(filepath.ToSlash(dir))
	}
	path, err := filepath.Abs(dir)
	if err != nil { // the current directory is gone: Open refuses what is left
		return "file://" + escape(filepath.ToSlash(dir))
	}
	return urlOf(path, onWindows)
}

// urlOf is the URL of an absolute path. On Windows a slash stands before the drive.
func urlOf(path string, windows bool) string {
	if windows {
		path = "/" + strings.ReplaceAll(path, `\`, "/")
	}
	return "file://" + escape(path)
}

// escape leaves no @ either: behind a colon, that of a drive for instance, it could be taken for the end of a password.
func escape(path string) string {
	return strings.ReplaceAll((&url.URL{Path: path}).EscapedPath(), "@", "%40")
}

// pathOf is the path that stands in a URL: what urlOf was made of.
func pathOf(path string, windows bool) string {
	if windows {
		return strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", `\`)
	}
	return path
}

// Problems of URLs.
const (
	notFromRoot = "it is no path from the root of this machine: write three slashes and then the whole path, file:///path/to/directory; " +
		"relative paths and ~ are not taken, but filelock.URL makes a URL of a relative path"
	noDirectory = "it names no directory; write the whole path, file:///path/to/directory, on Windows with its drive, file:///C:/directory"
)

// openURL opens file:///absolute/path, with the parameters network=allow and wait=poll.
func openURL(ctx context.Context, u *driver.URL) (driver.Store, error) {
	wrong := func(param, problem string) (driver.Store, error) {
		return nil, &driver.URLError{Scheme: u.Scheme, Param: param, Problem: problem}
	}
	if err := u.Check("network", "wait"); err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if len(u.Hosts) > 0 || u.User != "" || !u.Password.Empty() || slices.Contains([]string{"~", ".", ".."}, first) {
		return wrong("", notFromRoot)
	}
	path := pathOf(u.Path, onWindows)
	if strings.ContainsRune(path, 0) {
		return wrong("", "a path cannot contain a zero byte (%00)")
	}
	if !filepath.IsAbs(path) {
		return wrong("", noDirectory)
	}
	var options []Option
	for _, p := range []struct {
		name, value string
		option      Option
	}{{"network", "allow", AllowNetwork()}, {"wait", "poll", Polling()}} {
		switch text, err := u.Text(p.name, ""); {
		case err != nil:
			return nil, err
		case text == p.value:
			options = append(options, p.option)
		case text != "" || len(u.Params[p.name]) > 0:
			return wrong(p.name, "takes the value "+p.value+", or leave it out")
		}
	}
	st, err := Open(ctx, path, options...)
	if err != nil {
		return nil, err
	}
	return st, nil
}
