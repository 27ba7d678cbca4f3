package servers

import (
	"os"
	"testing"
)

func TestStandsStill(t *testing.T) {
	if still, err := standsStill(os.Getpid()); still || err != nil {
		t.Errorf("this process stands still: %t, %v", still, err)
	}
	if still, err := standsStill(-1); still || err == nil {
		t.Errorf("a process that does not exist stands still: %t, %v", still, err)
	}
}
