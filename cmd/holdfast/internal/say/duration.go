package say

import (
	"fmt"
	"time"
)

// Duration shows how long something takes, as exactly as people want it: 0.3s, 12s, 3m20s, 2h05m, 3d04h.
func Duration(d time.Duration) string {
	switch s := d.Round(time.Second); {
	case d <= 0:
		return "0s"
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", max(0.1, d.Seconds())) // what is left is not shown as nothing
	case s < time.Minute:
		return fmt.Sprintf("%ds", s/time.Second)
	case s < time.Hour:
		return fmt.Sprintf("%dm%02ds", s/time.Minute, s%time.Minute/time.Second)
	case s < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", s/time.Hour, s%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", s/(24*time.Hour), s%(24*time.Hour)/time.Hour)
	}
}
