package contender

import "time"

// pausePerGoroutine times the goroutines of a client is the pause between two tries that serves those best who poll: 1.6 ms for a crowd of
// 8 over 4 clients, 13 ms for 64, 51 ms for 256. It was found with --retry. Shorter, and the tries of a crowd keep the server so busy
// that whoever holds the lock can hardly give it back; longer, and one goroutine takes the lock again and again while all others sleep, which
// is fast, but starves them.
const pausePerGoroutine = 800 * time.Microsecond

// pauseFor returns the pause, or, if that is 0, the best one that is known for so many goroutines of a client.
func pauseFor(pause time.Duration, goroutines int) time.Duration {
	if pause == 0 {
		return pausePerGoroutine * time.Duration(goroutines)
	}
	return pause
}

func pauseText(pause time.Duration) string {
	if pause == 0 {
		return pausePerGoroutine.String() + " for each goroutine of its client"
	}
	return pause.String()
}
