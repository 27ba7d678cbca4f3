// Package group looks after the processes of a command: its process group, and what has left that but still belongs to it.
package group

// How processes are known.
const (
	MarkVariable = "HOLDFAST_RUN"   // in the environment: names the runs around a process, the outermost first, with slashes between them
	GuardName    = "holdfast-guard" // what a guard process is called
)
