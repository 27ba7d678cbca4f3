package measure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// A Probe asks the server about itself, on a connection of its own.
type Probe struct{ client rueidis.Client }

// NewProbe connects.
func NewProbe(addr string) (*Probe, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true, PipelineMultiplex: -1,
		ClientName: "holdfast-bench",
	})
	if err != nil {
		return nil, fmt.Errorf("the server at %s: %w", addr, err)
	}
	return &Probe{client}, nil
}

// Close disconnects.
func (p *Probe) Close() { p.client.Close() }

// Info is what a server says about itself.
type Info struct {
	Product, Version string
	Processed        int64            // commands, those that scripts call too
	Calls            map[string]int64 // of each command
	CPU              float64          // seconds that the server has used
	Memory           int64            // bytes that it has allocated
}

// Info asks for it. The answer counts everything that the server has carried out before this request.
func (p *Probe) Info(ctx context.Context) (Info, error) {
	info := p.client.B().Info().Section("server", "stats", "commandstats", "cpu", "memory").Build()
	text, err := p.client.Do(ctx, info).ToString()
	if err != nil {
		return Info{}, fmt.Errorf("INFO: %w", err)
	}
	return parse(text)
}

func parse(text string) (Info, error) {
	fields := make(map[string]string)
	info := Info{Product: "Redis", Calls: make(map[string]int64)}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if command, ok := strings.CutPrefix(key, "cmdstat_"); ok {
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			n, err := strconv.ParseInt(calls, 10, 64)
			if err != nil {
				return Info{}, fmt.Errorf("INFO: %s: %w", key, err)
			}
			info.Calls[command] = n
		} else {
			fields[key] = value
		}
	}
	info.Version = fields["redis_version"]
	if v, ok := fields["valkey_version"]; ok {
		info.Product, info.Version = "Valkey", v
	}
	var system, user float64
	var errs [4]error
	info.Processed, errs[0] = strconv.ParseInt(fields["total_commands_processed"], 10, 64)
	info.Memory, errs[1] = strconv.ParseInt(fields["used_memory"], 10, 64)
	system, errs[2] = strconv.ParseFloat(fields["used_cpu_sys"], 64)
	user, errs[3] = strconv.ParseFloat(fields["used_cpu_user"], 64)
	info.CPU = system + user
	if err := errors.Join(errs[:]...); err != nil {
		return Info{}, fmt.Errorf("INFO has fields that are missing or no numbers: %w", err)
	}
	return info, nil
}

// Since returns what the server has carried out since an earlier answer. INFO itself is taken off.
func (i Info) Since(earlier Info) (processed int64, calls map[string]int64) {
	calls = maps.Clone(i.Calls)
	for command, n := range earlier.Calls {
		calls[command] -= n
	}
	processed = i.Processed - earlier.Processed - calls["info"]
	delete(calls, "info")
	maps.DeleteFunc(calls, func(_ string, n int64) bool { return n == 0 })
	return processed, calls
}

// runners are the commands by which clients run scripts and functions.
var runners = []string{"eval", "evalsha", "fcall", "eval_ro", "evalsha_ro", "fcall_ro"}

// sent returns how many commands came from clients, if those send the direct ones and run scripts: the server counts a command in the same
// way whether a client or a script calls it.
func sent(calls map[string]int64, direct []string) int64 {
	var n int64
	for _, command := range runners {
		n += calls[command]
	}
	for _, command := range direct {
		n += calls[command]
	}
	return n
}
