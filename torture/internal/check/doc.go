// Package check decides what a history proves.
package check
