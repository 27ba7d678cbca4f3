//go:build linux

package filelock_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"holdfast.dev"
)

const mountVariable = "HOLDFAST_FILELOCK_MOUNT"

// mounted runs a test once more in a process that has mounts of its own, which go when it ends, however it ends. There it mounts a
// small file system in memory and returns the place; here it returns "" when all is over.
func mounted(t *testing.T, options string) (place string) {
	t.Helper()
	if os.Getenv(mountVariable) == t.Name() {
		place := t.TempDir()
		if err := syscall.Mount("holdfast", place, "tmpfs", 0, "mode=0700,"+options); err != nil {
			t.Fatalf("mounting a small file system: %v", err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(place, syscall.MNT_DETACH); err != nil {
				t.Errorf("unmounting: %v", err)
			}
		})
		return place
	}
	binary, err := os.Executable()
	must(t, err)
	cmd := exec.Command(binary, "-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.count=1", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), mountVariable+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 { // a user that is root among the mounts of its own
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	output, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(output))
	switch {
	case text == "" && err != nil:
		t.Skipf("this system allows no mounts of one's own: %v", err)
	case err != nil || !strings.Contains(text, "--- PASS: "+t.Name()):
		t.Errorf("in a process with mounts of its own: %v\n%s", err, text)
	default:
		t.Logf("in a process with mounts of its own:\n%s", text)
	}
	return ""
}

// fillers use up what a file system has, and return how to give it back.
var fillers = map[string]struct {
	options string
	fill    func(t *testing.T, place string) (free func())
}{
	"no space":  {"size=768k", fillSpace},
	"no inodes": {"size=16m,nr_inodes=150", fillInodes},
}

func fillSpace(t *testing.T, place string) func() {
	t.Helper()
	path := filepath.Join(place, "filler")
	f, err := os.Create(path)
	must(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	f.Close()
	return func() { must(t, os.Remove(path)) }
}

func fillInodes(t *testing.T, place string) func() {
	t.Helper()
	dir := filepath.Join(place, "filler")
	must(t, os.Mkdir(dir, 0o700))
	var err error
	for i := 0; err == nil; i++ {
		err = os.WriteFile(filepath.Join(dir, strings.Repeat("f", i+1)), nil, 0o600)
	}
	return func() { must(t, os.RemoveAll(dir)) }
}

// TestNoSpace and TestNoInodes: on a full disk whoever holds can let go, whoever waits is served, a process that dies is noticed;
// whoever comes is told why it cannot be served, and when there is room again, nothing was lost.
func TestNoSpace(t *testing.T)  { fullDisk(t, "no space") }
func TestNoInodes(t *testing.T) { fullDisk(t, "no inodes") }

func fullDisk(t *testing.T, how string) {
	place := mounted(t, fillers[how].options)
	if place == "" {
		return
	}
	dir := filepath.Join(place, "store")
	locks, holder, dies, waiter, behind := open(t, dir), here(t, dir), there(t, dir), there(t, dir), there(t, dir)
	top, died := holder.holds("h", "lock"), dies.holds("d", "second")
	waiter.queues("w", "lock")
	waiter.queues("second", "second")
	behind.queues("w", "lock")
	clients := len(clientsOf(t, dir))
	free := fillers[how].fill(t, place)

	for range 3 {
		err := denied(t, locks, "new")
		if !strings.Contains(err.Error(), "no space left") {
			t.Errorf("%v does not say that the disk is full", err)
		}
		if late, err := holdfast.Open(t.Context(), storeURL(dir)); err == nil {
			shut(t, late) // not every file system needs space for a directory
		} else if t.Logf("what a user sees: %v", err); !strings.Contains(err.Error(), "no space left") {
			t.Errorf("%v does not say that the disk is full", err)
		}
	}
	if n := len(clientsOf(t, dir)); n != clients {
		t.Errorf("%d clients were open, and failed Opens made it %d", clients, n)
	}
	info, err := locks.Inspect(t.Context(), "lock")
	if err != nil || len(info.Holders) != 1 || len(info.Waiters) != 2 {
		t.Errorf("inspection shows %+v, %v; want one holder and two waiters", info, err)
	}
	killed := dies.dies()
	if heir := waiter.grantedSince("second", killed); heir.Token <= died.Token {
		t.Errorf("token %d was granted after token %d", heir.Token, died.Token)
	}
	freed := holder.unlocks("h")
	first := waiter.grantedSince("w", freed)
	freed = waiter.unlocks("w")
	second := behind.grantedSince("w", freed)
	behind.unlocks("w")
	waiter.unlocks("second")
	free()

	unlock(t, take(t, locks, "new"))
	third := take(t, locks, "lock")
	if first.Token <= top.Token || second.Token <= first.Token || third.Token() <= second.Token {
		t.Errorf("tokens %d, %d, %d, %d: they must rise", top.Token, first.Token, second.Token, third.Token())
	}
	unlock(t, third)
	shut(t, locks)
	for _, p := range []*party{holder, waiter, behind} {
		p.tell(order{Do: "close"})
		if w := p.hears("closed", ""); w.Error != "" {
			t.Errorf("closing: %s", w.Error)
		}
	}
	sweeps(t, dir)
}

// TestReadOnly: on a file system that is read-only nothing can be opened, and the error says why. One with a store that is open cannot be
// made read-only: a client keeps a file open for writing.
func TestReadOnly(t *testing.T) {
	place := mounted(t, "size=16m")
	if place == "" {
		return
	}
	remount := func(flags uintptr) error {
		return syscall.Mount("holdfast", place, "tmpfs", syscall.MS_REMOUNT|flags, "")
	}
	dir := filepath.Join(place, "store")
	must(t, remount(syscall.MS_RDONLY))
	refused(t, dir) // which it would have to make
	must(t, remount(0))
	shut(t, open(t, dir))
	must(t, remount(syscall.MS_RDONLY))
	before := lookAt(t, place)
	if err := refused(t, dir); !strings.Contains(err.Error(), "read-only") {
		t.Errorf("%v does not say that the file system is read-only", err)
	}
	unchanged(t, place, before)
	must(t, remount(0))

	locks := open(t, dir)
	hold := take(t, locks, "lock")
	if err := remount(syscall.MS_RDONLY); err != syscall.EBUSY {
		t.Errorf("making a file system read-only while a store is open: %v, want %v", err, syscall.EBUSY)
	}
	unlock(t, hold)
	shut(t, locks)
	must(t, remount(syscall.MS_RDONLY))
}

// TestInMemory: a file system in memory forgets everything in a restart. Whoever asks for correctness is told so.
func TestInMemory(t *testing.T) {
	place := mounted(t, "size=1m")
	if place == "" {
		return
	}
	dir := filepath.Join(place, "store")
	locks, err := holdfast.Open(t.Context(), storeURL(dir), holdfast.Require(holdfast.Correctness))
	if err == nil {
		locks.Close()
		t.Fatal("Open accepted a file system in memory, and correctness was asked for")
	}
	t.Logf("what a user sees: %v", err)
	if lacks := new(holdfast.RequirementError); !errors.As(err, &lacks) {
		t.Errorf("%v is not a RequirementError", err)
	}
	locks = open(t, dir)
	unlock(t, take(t, locks, "lock"))
}
