package filelock

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"

	"holdfast.dev/driver"
)

func init() { driver.Register("file", openURL) }

// openURL opens file:///absolute/path, with the parameters network=allow and wait=poll.
func openURL(ctx context.Context, u *driver.URL) (driver.Store, error) {
	wrong := func(param, problem string) (driver.Store, error) {
		return nil, &driver.URLError{Scheme: u.Scheme, Param: param, Problem: problem}
	}
	if err := u.Check("network", "wait"); err != nil {
		return nil, err
	}
	if len(u.Hosts) > 0 || u.User != "" || !u.Password.Empty() {
		return wrong("", "a directory is on this machine: write three slashes, file:///path/to/directory")
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = filepath.FromSlash(strings.TrimPrefix(path, "/"))
	}
	if strings.ContainsRune(path, 0) {
		return wrong("", "a path cannot contain a zero byte (%00)")
	}
	if !filepath.IsAbs(path) {
		return wrong("", "it names no directory; write an absolute path, file:///path/to/directory")
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
