// Package probe measures this machine in about a second: matrix products, copies, embedding rows and
// messages, the operations of which training consists. The simulator predicts from the Result.
package probe

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// Result is a measurement, of one core unless stated otherwise.
type Result struct {
	Cores    int              // that the process may use
	Memory   unit.Bytes       // installed; 0 if unknown
	Multiply unit.FLOPsPerSec // matrix products in single precision
	Peak     unit.FLOPsPerSec // multiply-adds in registers, an upper bound of Multiply; 0 without assembly
	Copy     unit.BytesPerSec // from memory to memory
	Lookup   unit.Tick        // of one embedding row of Dim values
	Update   unit.Tick        // of one such row, by Adagrad
	Create   unit.Tick        // of one such row at its first lookup, beyond Lookup
	Message  unit.Tick        // between two goroutines, one way
	Timer    unit.Tick        // by how much a timer fires late while the process waits, in the mean
	Date     string           // YYYY-MM-DD
}

// The sizes of the measurements. The table and the copies are larger than a core's caches, so that rows and
// bytes come from memory, as in training.
const (
	Dim        = 16 // values of a row
	matrixSize = 256
	rowCount   = 400_000
	copyBytes  = 64 << 20
	batchRows  = 4096
	pingPongs  = 2000
	timers     = 40
	// window is how long each operation is repeated.
	window = 150 * time.Millisecond
)

// Run measures this machine. The machine should be idle.
func Run() (Result, error) {
	r := Result{Cores: runtime.GOMAXPROCS(0), Memory: installed(), Date: time.Now().Format(time.DateOnly)}
	r.Multiply = multiply()
	r.Peak = peak()
	r.Copy = copySpeed()
	var err error
	if r.Lookup, r.Update, r.Create, err = rows(); err != nil {
		return Result{}, fmt.Errorf("probe: %w", err)
	}
	r.Message = message()
	r.Timer = timer()
	return r, nil
}

// repeat runs f until the window is over and returns the median duration.
func repeat(f func()) time.Duration {
	f() // load code and data into the caches
	var times []time.Duration
	for begin := time.Now(); time.Since(begin) < window; {
		start := time.Now()
		f()
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return max(times[len(times)/2], 1)
}

func multiply() unit.FLOPsPerSec {
	a, b, c := random("a"), random("b"), make([]float32, matrixSize*matrixSize)
	products := gemm.NewProducts(nil) // once, because it allocates memory for packing
	took := repeat(func() {
		products.Gemm(false, true, matrixSize, matrixSize, matrixSize, a, matrixSize, b, matrixSize, 0, c,
			matrixSize)
	})
	return unit.FLOPsPerSec(2 * matrixSize * matrixSize * matrixSize / took.Seconds())
}

// random returns a square matrix of values in [0, 1).
func random(name string) []float32 {
	key := rng.Key(1, "probe/"+name)
	m := make([]float32, matrixSize*matrixSize)
	for i := range m {
		m[i] = rng.Unit(key, i)
	}
	return m
}

func copySpeed() unit.BytesPerSec {
	from, to := make([]byte, copyBytes), make([]byte, copyBytes)
	for i := range from {
		from[i] = byte(i) // untouched memory would be one shared page of zeros
	}
	took := repeat(func() { copy(to, from) })
	return unit.BytesPerSec(copyBytes / took.Seconds())
}

// rows measures lookups and updates of rows at random places of a table, and their creation.
func rows() (lookup, update, create unit.Tick, err error) {
	adagrad, err := opt.NewRow(opt.DefaultRow())
	if err != nil {
		return 0, 0, 0, err
	}
	t, err := table.New(table.Config{Dim: Dim, Optimizer: adagrad, Seed: 1, InitBound: 0.01}, table.Heap{})
	if err != nil {
		return 0, 0, 0, err
	}
	signs, values := make([]uint64, batchRows), make([]float32, batchRows*Dim)
	start := time.Now()
	for first := 0; first < rowCount; first += batchRows {
		for i := range signs {
			signs[i] = uint64(first + i)
		}
		if err := t.Lookup(signs, values); err != nil {
			return 0, 0, 0, err
		}
	}
	created := unit.Tick(time.Since(start).Nanoseconds() / int64(t.Len()))
	draw := rng.New(1, "probe/rows")
	pick := func() {
		for i := range signs {
			signs[i] = draw.Uint64N(rowCount)
		}
	}
	var failed error
	each := func(took time.Duration) unit.Tick { return max(1, unit.Tick(took.Nanoseconds()/batchRows)) }
	picks := repeat(pick)
	lookups := repeat(func() {
		pick()
		if err := t.Lookup(signs, values); err != nil {
			failed = err
		}
	})
	updates := repeat(func() {
		pick()
		t.Apply(signs, values, t.Rate(0), nil)
	})
	lookup = each(lookups - picks)
	return lookup, each(updates - picks), max(0, created-lookup), failed
}

// message measures a message between goroutines and its answer.
func message() unit.Tick {
	ping, pong := make(chan int), make(chan int)
	go func() {
		for x := range ping {
			pong <- x
		}
		close(pong)
	}()
	took := repeat(func() {
		for i := range pingPongs {
			ping <- i
			<-pong
		}
	})
	close(ping)
	<-pong
	return max(1, unit.Tick(took.Nanoseconds()/(2*pingPongs)))
}

// timer measures by how much timers fire late. While a process waits, Go's scheduler counts in whole
// milliseconds, so that the mean is over parts of one.
func timer() unit.Tick {
	var late time.Duration
	for i := range timers {
		d := time.Millisecond * time.Duration(timers+i) / timers
		start := time.Now()
		<-time.After(d)
		late += time.Since(start) - d
	}
	return max(0, unit.Tick(late.Nanoseconds()/timers))
}
