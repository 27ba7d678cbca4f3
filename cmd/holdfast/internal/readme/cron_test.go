//go:build unix

package readme

import (
	"context"
	"regexp"
	"strings"
)

// A line of a crontab: five fields of time, and the command.
var cronLine = regexp.MustCompile(`^(?:[0-9*/,-]+ +){5}(.*)$`)

// crontab runs the commands of a crontab as cron does. Then a terminal takes their lock, and they must find it taken: who tries a job by
// hand must not run it beside cron's.
func (r *reader) crontab(b block) {
	r.t.Helper()
	for line := range strings.Lines(b.text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		match := cronLine.FindStringSubmatch(line)
		if match == nil || strings.Contains(match[1], "%") { // a line end for cron
			r.t.Fatalf("README.md:%d: not a line of a crontab: %s", b.line, line)
		}
		name := regexp.MustCompile(` ([\w/-]+) -- `).FindStringSubmatch(match[1])
		if name == nil {
			r.t.Fatalf("README.md:%d: the lock's name is not found in: %s", b.line, line)
		}
		before := r.house.noted(r.t)
		output, code := r.cron(match[1])
		after := r.house.noted(r.t)
		if code != 0 || output != "" || !strings.HasSuffix(strings.TrimPrefix(after, before), " under "+name[1]+"\n") {
			r.t.Errorf("README.md:%d: under cron this ended with code %d and printed %q: %s", b.line, code, output, line)
		}
		r.open, r.shown = r.first.begin(r.t, "holdfast run "+name[1]+" -- cat"), ""
		r.awaitLock()
		if output, code := r.cron(match[1]); code != 1 || r.house.noted(r.t) != after {
			r.t.Errorf("README.md:%d: while a terminal had the lock this ended with code %d and printed %q: %s", b.line, code, output, line)
		}
		r.interrupt()
	}
}

// cron runs a command as cron does.
func (r *reader) cron(command string) (output string, code int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + r.house.home, "SHELL=/bin/sh", "LOGNAME=me"}
	raw, err := r.house.command(ctx, env, command).CombinedOutput()
	return string(raw), codeOf(r.t, command, err, raw)
}
