// Package choose picks things by their names, as somebody wrote them on the command line.
package choose

import (
	"fmt"
	"slices"
	"strings"
)

// Named returns those of the names, in the order of all; no names are all of them. kind is what the things are, for the error.
func Named[T any](kind string, all []T, name func(T) string, names []string) ([]T, error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	var selected []T
	for _, each := range all {
		known = append(known, name(each))
		if slices.Contains(names, name(each)) {
			selected = append(selected, each)
		}
	}
	for _, wanted := range names {
		if !slices.Contains(known, wanted) {
			return nil, fmt.Errorf("no %s is named %q; there are %s", kind, wanted, strings.Join(known, ", "))
		}
	}
	return selected, nil
}

// Split splits a list of names, with commas or spaces between them.
func Split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}
