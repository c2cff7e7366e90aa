//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package metrics

import "golang.org/x/sys/unix"

// cpuSeconds returns the time of cores that the process has used.
func cpuSeconds() (float64, bool) {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		return 0, false
	}
	return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e9, true
}
