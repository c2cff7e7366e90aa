//go:build !race

package transport

// shadow is 1 where no race detector keeps notes on memory.
const shadow = 1
