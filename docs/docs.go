// Package docs holds the tutorials. Its test follows each to the letter, in a copy
// of the tree: what a tutorial says to write is written, what it says to run is run.
package docs
