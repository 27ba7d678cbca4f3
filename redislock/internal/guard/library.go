package guard

import (
	_ "embed"

	"holdfast.dev/redislock/internal/redisconn"
)

//go:embed guard.lua
var code string

// NewLibrary is a function library that begins with guard.lua; code is what a package has of its own, without a first line "#!lua". The
// names of its functions begin with its name and "_". Whoever changes one of both texts gives the library another name: servers
// may have it under the old one.
func NewLibrary(name, own string) *redisconn.Library {
	return &redisconn.Library{Name: name, Code: "#!lua name=" + name + "\nlocal LIBRARY = '" + name + "'\n" + code + own}
}

// Functions that every library has.
const (
	fnFind  = "_find"
	fnOpen  = "_open"
	fnNote  = "_note"
	fnProve = "_prove"
)

// function is the whole name of one of them.
func (s *Store) function(name string) string { return s.config.Library.Name + name }
