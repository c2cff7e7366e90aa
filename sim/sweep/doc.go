// Package sweep says at which settings predictions are made, and keeps them in a CSV file that a sweep
// continues after it was stopped.
//
// # The file
//
// A line is appended as soon as its point is known, so the lines of an unfinished file stand in any order.
// The end of the sweep writes the file again in the order of the grid: it has the same bytes however many
// points were simulated at once, and however often the sweep was stopped. A line that was cut off is dropped.
//
// Inputs is a digest of what a line depends on: the program, the flags, and the files that flags and such
// files name. A file with lines of other inputs, or of points that the grid does not have, is another sweep's
// and is refused: nothing is mixed, and nothing overwritten.
package sweep
