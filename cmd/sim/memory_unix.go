//go:build unix

package main

import (
	"runtime"
	"syscall"
)

// peakRSS returns the largest resident memory of this process so far, in bytes; nil if the system does not
// say.
func peakRSS() *int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return nil
	}
	bytes := int64(usage.Maxrss)
	if runtime.GOOS != "darwin" { // others count in KiB
		bytes *= 1024
	}
	return &bytes
}
