package holdfast

import "context"

// turnPermits takes some permits. They never nest: whoever holds some and wants more waits like everybody else.
func (s *simWorker) turnPermits() {
	k := s.lock()
	s.w.tally(func(c *simCount) { c.permits++ })
	semaphore := s.client(k).Semaphore(k.name, s.w.limit, s.options()...)
	s.take("permit holder", semaphore.Permits(1+s.random.IntN(s.w.limit)), context.Background(), func(ctx context.Context, _ *Hold) {
		if Token(ctx) != 0 {
			s.w.violation("%s: the context of permits has fencing token %d", s.label, Token(ctx))
		}
	})
}
