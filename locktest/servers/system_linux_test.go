package servers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
)

// awaitEnd waits until a process is gone, or is a zombie that somebody else has to bury.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	ctx := patience(t)
	for runs(pid) {
		if ctx.Err() != nil {
			t.Fatalf("process %d still runs", pid)
		}
		time.Sleep(time.Millisecond)
	}
}

func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

func TestStopAndContinue(t *testing.T) {
	r := start(t)
	conn, err := r.Dial(patience(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", r.Pid()))
	if err != nil || len(threads) < 2 {
		t.Fatalf("threads %v, %v", threads, err)
	}
	for _, thread := range threads {
		if stat, err := os.ReadFile(thread); err != nil || !strings.Contains(string(stat), ") T ") {
			t.Errorf("a thread goes on: %s, %v", stat, err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Do(short, "PING"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it answers while it is stopped, or says %v", err)
	}
	asked := make(chan error, 1)
	go func() {
		_, err := conn.Do(patience(t), "SET", "asked", "meanwhile")
		asked <- err
	}()
	if err := r.Continue(); err != nil {
		t.Fatal(err)
	}
	if err := <-asked; err != nil {
		t.Errorf("what was asked meanwhile: %v", err)
	}
	if err := r.Ready(patience(t)); err != nil {
		t.Error(err)
	}
	for range 2 { // a stopped server can be killed and closed, too
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		restart(t, r)
	}
	r.Kill()
	for name, err := range map[string]error{"Stop": r.Stop(), "Continue": r.Continue()} {
		if !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s after Kill: %v", name, err)
		}
	}
	if err := r.Ready(patience(t)); err == nil {
		t.Error("a killed server is ready")
	}
}

// A replica that has much to catch up on is in sync when it has all of it, though it was connected all the time.
func TestSyncOfMuch(t *testing.T) {
	primary := start(t)
	replica := start(t, servers.RedisReplicaOf(primary))
	if err := replica.Stop(); err != nil {
		t.Fatal(err)
	}
	do(t, primary, "EVAL", "for i = 1, 40 do redis.call('set', 'key' .. i, string.rep('x', 1024 * 1024)) end", "0")
	if err := replica.Continue(); err != nil {
		t.Fatal(err)
	}
	if err := replica.Sync(patience(t)); err != nil {
		t.Fatal(err)
	}
	answers(t, replica, int64(40), "DBSIZE")
}

// What a server has forked ends with it, or stands still with it.
func TestForkedProcesses(t *testing.T) {
	r := start(t, servers.RedisSet("rdb-key-save-delay", "1000000000")) // µs for each key: longer than this test
	do(t, r, "SET", "key", "value")
	fork := func() int {
		do(t, r, "BGSAVE")
		matches := regexp.MustCompile(`Background saving started by pid (\d+)`).FindAllStringSubmatch(r.Log(), -1)
		if matches == nil {
			t.Fatalf("it has not forked; its log: %s", r.Log())
		}
		pid, _ := strconv.Atoi(matches[len(matches)-1][1])
		if !runs(pid) {
			t.Fatalf("process %d, which it has forked, does not run", pid)
		}
		return pid
	}
	pid := fork()
	r.Kill()
	awaitEnd(t, pid)
	restart(t, r)
	do(t, r, "SET", "key", "value")
	pid = fork()
	if err := syscall.Kill(r.Pid(), syscall.SIGKILL); err != nil { // not by us
		t.Fatal(err)
	}
	if err := r.Wait(patience(t)); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, pid)
}

// A server outlives the thread of the goroutine that asked for it.
func TestThreadEnds(t *testing.T) {
	var r *servers.Redis
	var err error
	thread := make(chan int)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		r, err = servers.StartRedis(patience(t))
		thread <- syscall.Gettid()
	}()
	id := <-thread
	servers.Need(t, err)
	defer r.Close()
	ctx := patience(t)
	for gone := false; !gone; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", id)); errors.Is(err, os.ErrNotExist) {
			gone = true
		} else if id == os.Getpid() {
			t.Skip("the goroutine ran on the first thread, which never ends")
		} else if ctx.Err() != nil {
			t.Fatal("the thread does not end")
		}
	}
	answers(t, r, "PONG", "PING")
}

// TestParentKilled starts this test binary again, lets it start a server, and kills it.
func TestParentKilled(t *testing.T) {
	const mark = "started process "
	if os.Getenv("SERVERS_TEST_PARENT") != "" {
		r, err := servers.StartRedis(patience(t))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("\n%s%d\n", mark, r.Pid())
		select {} // until it is killed
	}
	start(t) // or this test is skipped
	parent := exec.Command(os.Args[0], "-test.run=^TestParentKilled$", "-test.timeout=2m")
	parent.Env = append(os.Environ(), "SERVERS_TEST_PARENT=1", "TMPDIR="+t.TempDir())
	parent.Stderr = os.Stderr
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer parent.Wait()
	defer parent.Process.Kill()
	pid := 0
	for lines := bufio.NewScanner(output); pid == 0 && lines.Scan(); {
		if text, found := strings.CutPrefix(lines.Text(), mark); found {
			pid, _ = strconv.Atoi(text)
		}
	}
	if pid == 0 || !runs(pid) {
		t.Fatalf("the server, process %d, does not run", pid)
	}
	parent.Process.Kill()
	awaitEnd(t, pid)
}

// Whatever libfaketime shares between processes is gone, too.
func TestClockLeavesNothing(t *testing.T) {
	r := start(t, servers.RedisClock())
	shared := func(pid int) []string {
		files, err := filepath.Glob(fmt.Sprintf("/dev/shm/*faketime_*_%d", pid))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	first := r.Pid()
	if len(shared(first)) == 0 {
		t.Log("this libfaketime shares nothing")
	}
	restart(t, r)
	r.Close()
	for _, pid := range []int{first, r.Pid()} {
		if files := shared(pid); len(files) > 0 {
			t.Errorf("left behind: %v", files)
		}
	}
}
