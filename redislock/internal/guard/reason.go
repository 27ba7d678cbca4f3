package guard

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"holdfast.dev/redislock/internal/redisconn"
)

// A reason is why the guard is on, in words. It is asked for at most once a second, whoever wants to know.
type reason struct {
	mu    sync.Mutex
	text  string
	asked time.Time
}

// Reason says why the server grants nothing, for people; "" if nobody knows.
func (s *Store) Reason(ctx context.Context) string {
	s.why.mu.Lock()
	known := s.why.text
	if time.Since(s.why.asked) < time.Second {
		s.why.mu.Unlock()
		return known
	}
	s.why.asked = time.Now() // whatever comes of it
	s.why.mu.Unlock()
	text, err := s.config.Client.Do(ctx, s.config.Client.B().Info().Section("server", "replication", "stats").Build()).ToString()
	if err != nil {
		return known
	}
	s.why.mu.Lock()
	defer s.why.mu.Unlock()
	s.why.text = explainGuard(redisconn.ReadInfo(text))
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
