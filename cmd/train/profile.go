package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
)

// profiled does work and writes its CPU profile to a file, if the name of a file is given.
func profiled(file string, do func() error) error {
	if file == "" {
		return do()
	}
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("--cpu-profile: %w", err)
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return errors.Join(fmt.Errorf("--cpu-profile: %w", err), out.Close())
	}
	err = do()
	pprof.StopCPUProfile()
	return errors.Join(err, out.Close())
}
