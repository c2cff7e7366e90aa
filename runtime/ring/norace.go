//go:build !race

package ring

// fence is for the race detector: see race.go.
func fence() {}
