// Package explore looks at everything that a model can do. A model is a state, and moves that lead from one state to the next; it knows
// nothing of what the states mean. The models of this module are run by it: guardmodel and redlockmodel. It is part of no program.
//
//	system := explore.System[State, Move]{Initial: …, Moves: …, Next: …}
//	result := system.Search(limit, bad)     // every state that can be reached, the near ones first
//	result := system.Walk(random, …)        // one path, drawn by lot, for what is too large
//	last, err := system.Replay(trace)       // a path again, without believing the search
//
// A search that is complete has seen every state: it compares states as a whole, never by their hashes alone. The first path that it
// finds to a bad state is one of the shortest. Both are the same in every run; so is a walk with the same random numbers.
package explore
