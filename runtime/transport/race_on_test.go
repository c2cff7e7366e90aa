//go:build race

package transport

// shadow is by what factor the race detector makes resident memory grow: it keeps four words of 8 bytes for
// each 8 bytes that are touched, beside these themselves.
const shadow = 5
