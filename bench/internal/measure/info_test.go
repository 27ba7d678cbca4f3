package measure

import (
	"maps"
	"reflect"
	"strings"
	"testing"
)

const answer = "# Server\r\nredis_version:7.0.15\r\n\r\n# Stats\r\ntotal_commands_processed:120\r\n# CPU\r\nused_cpu_sys:1.25\r\n" +
	"used_cpu_user:2.5\r\nused_memory:1000\r\n# Commandstats\r\ncmdstat_set:calls=70,usec=1,usec_per_call=1.00\r\n" +
	"cmdstat_info:calls=2,usec=9\r\ncmdstat_client|setinfo:calls=4,usec=9\r\n"

func TestParse(t *testing.T) {
	info, err := parse(answer)
	if err != nil {
		t.Fatal(err)
	}
	if info.Product != "Redis" || info.Version != "7.0.15" || info.Processed != 120 || info.CPU != 3.75 || info.Memory != 1000 {
		t.Errorf("%+v", info)
	}
	if want := map[string]int64{"set": 70, "info": 2, "client|setinfo": 4}; !maps.Equal(info.Calls, want) {
		t.Errorf("calls %v, want %v", info.Calls, want)
	}
	if info, err := parse(answer + "valkey_version:8.1.0\r\n"); err != nil || info.Product != "Valkey" || info.Version != "8.1.0" {
		t.Errorf("%+v, %v", info, err)
	}
	for _, bad := range []string{"used_memory:1000", "total_commands_processed:120", "used_cpu_sys:1.25", "calls=70"} {
		if _, err := parse(strings.Replace(answer, bad, "nothing", 1)); err == nil {
			t.Errorf("an answer without %q was taken", bad)
		}
	}
}

// TestSince: the questions themselves are no commands of the contender.
func TestSince(t *testing.T) {
	before := Info{Processed: 100, Calls: map[string]int64{"set": 70, "info": 2, "get": 5}}
	after := Info{Processed: 131, Calls: map[string]int64{"set": 80, "info": 3, "get": 5, "evalsha": 20}}
	processed, calls := after.Since(before)
	if want := map[string]int64{"set": 10, "evalsha": 20}; processed != 30 || !maps.Equal(calls, want) {
		t.Errorf("%d, %v; want 30, %v", processed, calls, want)
	}
	if n := sent(calls, nil); n != 20 {
		t.Errorf("%d were sent, if only scripts call SET; want 20", n)
	}
	if n := sent(calls, []string{"set"}); n != 30 {
		t.Errorf("%d were sent, if clients call SET; want 30", n)
	}
}

// TestSum: of several servers all that they did counts, and the first says what they are.
func TestSum(t *testing.T) {
	got := sum([]Info{
		{Product: "Redis", Version: "7.0.15", Processed: 1, CPU: 0.5, Memory: 10, Calls: map[string]int64{"set": 1, "get": 2}},
		{Product: "Valkey", Version: "8.1.0", Processed: 2, CPU: 0.25, Memory: 20, Calls: map[string]int64{"set": 3}},
	})
	want := Info{Product: "Redis", Version: "7.0.15", Processed: 3, CPU: 0.75, Memory: 30, Calls: map[string]int64{"set": 4, "get": 2}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
