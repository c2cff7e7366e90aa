package probe

import (
	"time"

	"tandem/algo/numeric/isa"
	"tandem/algo/unit"
)

// sums is the number of multiply-adds in a turn of the loop: as many as a core needs
// to have one ready whenever it can begin another.
const sums = 12

// MultiplyAdd multiplies and adds in registers alone, as fast as one core can, for
// this number of turns of a few nanoseconds each. It returns the number of operations,
// or 0 where the process has no vector instructions.
func MultiplyAdd(turns int) (flops float64) {
	if isa.Best() == isa.Portable || turns < 1 {
		return 0
	}
	lanes := 8.0
	if isa.Best() == isa.AVX512 {
		lanes = 16
	}
	multiplyAdd(turns)
	return 2 * sums * lanes * float64(turns)
}

// peak returns the rate of the fastest of many short runs: only other work on the core
// slows them.
func peak() unit.FLOPsPerSec {
	var best unit.FLOPsPerSec
	for begin := time.Now(); time.Since(begin) < window/10; {
		start := time.Now()
		flops := MultiplyAdd(20_000)
		best = max(best, unit.FLOPsPerSec(flops/max(time.Since(start), 1).Seconds()))
	}
	return best
}
