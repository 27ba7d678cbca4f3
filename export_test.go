package holdfast

// What the tests of the package look at from outside, beyond what it exports.

// UnknownScheme is what Open says of a scheme without a driver.
var UnknownScheme = unknownScheme

// Contexts counts the contexts that a hold would end.
func (h *Hold) Contexts() int {
	h.t.c.mu.Lock()
	defer h.t.c.mu.Unlock()
	return len(h.contexts)
}

// Residue counts what a client still keeps of its holds: tenures, leases, alarms, and calls and background work under way.
func (c *Client) Residue() (tenures, leases, alarms, running int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.schedule.mu.Lock()
	defer c.schedule.mu.Unlock()
	return len(c.tenures), len(c.keeps), c.schedule.alarms.Len(), c.running
}
