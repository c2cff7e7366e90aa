//go:build unix

package paired

import (
	"syscall"
	"time"
)

// cpuTime returns what all cores have worked for this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
