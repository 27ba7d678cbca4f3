package redlock

import "sync/atomic"

// hands carry out requests. A goroutine stays for the next request: a new one would first have to grow its stack, which takes longer than all else that
// it does.
type hands struct {
	jobs chan func()
	idle atomic.Int32 // how many wait for a job, at most
}

// mostIdle is how many goroutines stay: enough for a lock or two at once.
const mostIdle = 16

// do runs job on a goroutine. Those that wait for jobs end when done is closed.
func (h *hands) do(job func(), done <-chan struct{}) {
	select {
	case h.jobs <- job:
	default:
		go h.work(job, done)
	}
}

func (h *hands) work(job func(), done <-chan struct{}) {
	for {
		job()
		if h.idle.Add(1) > mostIdle {
			h.idle.Add(-1)
			return
		}
		select {
		case job = <-h.jobs:
			h.idle.Add(-1)
		case <-done:
			return
		}
	}
}
