package redislock

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// A reason is why the guard is on, in words. It is asked for at most once a second, whoever wants to know.
type reason struct {
	mu    sync.Mutex
	text  string
	asked time.Time
}

// guardReason says why the server grants nothing, for people; "" if nobody knows.
func (s *Store) guardReason(ctx context.Context) string {
	s.why.mu.Lock()
	defer s.why.mu.Unlock()
	if time.Since(s.why.asked) < time.Second {
		return s.why.text
	}
	text, err := s.client.Do(ctx, s.client.B().Info().Section("server", "replication", "stats").Build()).ToString()
	if err != nil {
		return s.why.text
	}
	s.why.asked, s.why.text = time.Now(), explainGuard(readInfoText(text))
	return s.why.text
}

// explainGuard reads it from INFO.
func explainGuard(info map[string]string) string {
	up, err := strconv.Atoi(info["uptime_in_seconds"])
	switch {
	case hasFollowed(info):
		return "this Redis has taken over as the primary"
	case err == nil && up < 600:
		return fmt.Sprintf("this Redis started %v ago", time.Duration(up)*time.Second)
	case err == nil:
		return "this Redis has got its first replica, or a copy of it was made"
	}
	return ""
}
