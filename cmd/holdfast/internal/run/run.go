// Package run runs a command while it holds a lock.
package run

// Run does what the plan says, and returns the code to end with.
func (p *Plan) Run() int { return 0 }
