//go:build !unix

package run

import "holdfast.dev/cmd/holdfast/internal/exit"

// Run refuses: a command must be ended with everything that it started when the lock is lost, and that needs process groups.
func (p *Plan) Run() int {
	p.Voice.Printf("run is not supported on this system: it needs Unix process groups to end a command in time; use the library")
	return exit.Usage
}
