package redislock

// Known is what the client remembers: attempts, and calls of Acquire with the holds that came of them. It is for tests.
func (s *Store) Known() (turns, parties int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.turns), len(s.parties)
}
