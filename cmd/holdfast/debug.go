//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

package main

// The lines above spare each start some reading of cgroup files: a program that mostly waits need not know how many processors a
// container may use.
