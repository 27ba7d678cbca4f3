package holdfast_test

import (
	"errors"
	"os"
	"testing"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// A keptStore is a store whose holds files keep.
type keptStore struct {
	driver.Store
	files []*os.File
	err   error
}

func (s *keptStore) Files() ([]*os.File, error) { return s.files, s.err }

// Rule: Files are the store's; a store without them is ErrUnsupported, its errors say which store it was, a closed client is ErrClosed.
func TestFiles(t *testing.T) {
	plain := connect(t, memlock.NewServer())
	_, err := plain.Files()
	expect(t, err, holdfast.ErrUnsupported, "files", "mem://")
	told, ok := errors.AsType[*holdfast.StoreError](err)
	if !ok || told.Op != "files" || told.Name != "" {
		t.Errorf("got %#v, want a *StoreError of files", err)
	}

	s := &keptStore{Store: memlock.New(), files: []*os.File{os.Stdin}}
	locks := holdfast.New(s)
	if files, err := locks.Files(); err != nil || len(files) != 1 || files[0] != os.Stdin {
		t.Errorf("Files: %v, %v; want the store's", files, err)
	}
	s.files, s.err = nil, errFull
	_, err = locks.Files()
	expect(t, err, errFull, "files", "mem://")

	if err := locks.Close(); err != nil {
		t.Fatal(err)
	}
	s.files, s.err = []*os.File{os.Stdin}, nil
	files, err := locks.Files()
	if files != nil {
		t.Errorf("a closed client has files: %v", files)
	}
	expect(t, err, holdfast.ErrClosed)
	_, err = holdfast.New(nil).Files()
	expect(t, err, holdfast.ErrArgument)
}
