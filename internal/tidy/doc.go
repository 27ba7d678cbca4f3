// Package tidy checks the repository itself: which package may import which, how large files and functions may grow, what must be
// documented. Rules that only stand in a document are broken within a month; these are tests, and a finding says where and why.
//
// It reads the tree as it is on disk, all modules, through fs.FS. So every rule is also run on small made-up trees, to prove that
// it can fail.
//
// To add a rule, write a function from *Tree to findings, add it to [Rules], and add a tree that breaks it to the tests.
package tidy
