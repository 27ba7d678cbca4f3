package holdfast

import "holdfast.dev/driver"

// Warnings says what is odd about how the store was opened, for people: nothing is wrong, and nothing is refused, but it may not be what was meant.
// A Redlock with an even number of nodes is an example. Mostly there is nothing to say. Nobody is asked: it costs nothing, and a program may
// print them when it starts.
func (c *Client) Warnings() []string {
	if w, ok := c.store.(driver.Warner); ok {
		return w.Warnings()
	}
	return nil
}
