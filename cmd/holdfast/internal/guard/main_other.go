//go:build !unix

package guard

// Main is the guard process: there is none here.
func Main() int { return 1 }
