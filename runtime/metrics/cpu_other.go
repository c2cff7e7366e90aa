//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package metrics

// cpuSeconds returns nothing: other systems have no getrusage.
func cpuSeconds() (float64, bool) { return 0, false }
