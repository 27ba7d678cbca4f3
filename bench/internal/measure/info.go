package measure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/rueidis"
)

// A Probe asks the server about itself, on a connection of its own; of several servers, all of them at once.
type Probe struct{ clients []rueidis.Client }

// NewProbe connects.
func NewProbe(addrs ...string) (*Probe, error) {
	p := new(Probe)
	for _, addr := range addrs {
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true, PipelineMultiplex: -1,
			ClientName: "holdfast-bench",
		})
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("the server at %s: %w", addr, err)
		}
		p.clients = append(p.clients, client)
	}
	return p, nil
}

// Close disconnects.
func (p *Probe) Close() {
	for _, client := range p.clients {
		client.Close()
	}
}

// But is the probe without the server of that number: one that stands still, say. It shares the connections, and need not be closed.
func (p *Probe) But(number int) *Probe {
	return &Probe{slices.Delete(slices.Clone(p.clients), number, number+1)}
}

// Info is what a server says about itself; of several servers, what the first is, and the sum of what all of them did.
type Info struct {
	Product, Version string
	Processed        int64            // commands, those that scripts call too
	Calls            map[string]int64 // of each command
	CPU              float64          // seconds that the server has used
	Memory           int64            // bytes that it has allocated
}

// Info asks for it. The answer counts everything that the server has carried out before this request.
func (p *Probe) Info(ctx context.Context) (Info, error) {
	infos, errs := make([]Info, len(p.clients)), make([]error, len(p.clients))
	var all sync.WaitGroup
	for i, client := range p.clients {
		all.Go(func() { infos[i], errs[i] = ask(ctx, client) })
	}
	all.Wait()
	return sum(infos), errors.Join(errs...)
}

func ask(ctx context.Context, client rueidis.Client) (Info, error) {
	info := client.B().Info().Section("server", "stats", "commandstats", "cpu", "memory").Build()
	text, err := client.Do(ctx, info).ToString()
	if err != nil {
		return Info{}, fmt.Errorf("INFO: %w", err)
	}
	return parse(text)
}

func sum(infos []Info) Info {
	all := Info{Calls: make(map[string]int64)}
	for i, each := range infos {
		if i == 0 {
			all.Product, all.Version = each.Product, each.Version
		}
		all.Processed += each.Processed
		all.CPU += each.CPU
		all.Memory += each.Memory
		for command, n := range each.Calls {
			all.Calls[command] += n
		}
	}
	return all
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
