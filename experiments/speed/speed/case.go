package speed

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/experiments/internal/pytorch"
	"tandem/internal/parallel"
	"tandem/runtime/blas"
	"tandem/runtime/memory"
)

// Kinds of cases.
const (
	kindDense  = "dense"  // forward, backward and optimizer of a network
	kindSparse = "sparse" // lookup, pooling, sums of gradients and optimizer of rows
	kindLookup = "lookup" // of the rows of signs, and nothing else
	kindUpdate = "update" // of the rows of signs by Adagrad, and nothing else
	kindTrain  = "train"  // a training from data to model
)

// kinds returns the kinds in the order of reports.
func kinds() []string { return []string{kindDense, kindSparse, kindTrain, kindLookup, kindUpdate} }

// testCase is one piece of work that both sides do for a few seconds.
type testCase struct {
	Kind    string           `json:"kind" yaml:"kind"`
	Batch   int              `json:"batch" yaml:"batch"` // samples per step
	Threads int              `json:"threads" yaml:"threads"`
	Net     *pytorch.Network `json:"net,omitempty" yaml:"net,omitempty"`
	Rows    *rows            `json:"rows,omitempty" yaml:"rows,omitempty"`
	Corpus  *corpus          `json:"corpus,omitempty" yaml:"corpus,omitempty"`
	// RowWise chooses row-wise Adagrad in the place of Adagrad.
	RowWise bool `json:"row_wise,omitempty" yaml:"row-wise,omitempty"`
	// Target is the least ratio of Tandem's rate to PyTorch's that is ok; 0: the ratio is only reported.
	Target float64 `json:"target,omitempty" yaml:"target,omitempty"`
}

// String returns the name of a case in errors and progress, without batch and threads.
func (c *testCase) String() string {
	name := map[string]string{
		kindDense: "dense step", kindSparse: "sparse step", kindTrain: "training", kindLookup: "lookup",
		kindUpdate: "update",
	}[c.Kind]
	if c.Rows == nil {
		return name + ", " + c.Net.Name
	}
	if c.RowWise {
		name = "row-wise step"
	}
	return fmt.Sprintf("%s, %s × %d, %s", name, millions(c.Rows.Total), c.Rows.Dim, c.Rows.Distribution)
}

// name returns the name of a case that no other has.
func (c *testCase) name() string {
	return fmt.Sprintf("%s, batch %d, threads %d", c, c.Batch, c.Threads)
}

// adagradName returns the name of an optimizer of rows.
func adagradName(rowWise bool) string {
	if rowWise {
		return "row-wise Adagrad"
	}
	return "Adagrad"
}

// millions returns a number of rows as text.
func millions(n int) string {
	if n < million {
		return strconv.Itoa(n)
	}
	return shortNumber(float64(n)/million) + " M"
}

// bytes returns the memory that a side needs for the rows of a case and their optimizer state; 0 for cases
// that need little.
func (c *testCase) bytes() unit.Bytes {
	if c.Rows == nil {
		return 0
	}
	values := 2 * c.Rows.Dim
	if c.RowWise {
		values = c.Rows.Dim + 1
	}
	return unit.Bytes(4 * values * c.Rows.Slots * c.Rows.Each)
}

// hasPeer reports whether PyTorch does the case as well. Its Adagrad has no row-wise form.
func (c *testCase) hasPeer() bool {
	return c.Kind != kindLookup && c.Kind != kindUpdate && !c.RowWise
}

// hasFBGEMM reports whether FBGEMM does the case as well.
func (c *testCase) hasFBGEMM() bool { return c.Kind == kindSparse || c.Kind == kindTrain && c.RowWise }

// targetFBGEMM returns the least ratio of Tandem's rate to FBGEMM's that is ok, or 0 if there is none.
func (c *testCase) targetFBGEMM() float64 {
	switch {
	case !c.hasFBGEMM() || c.Target == 0:
		return 0
	case c.RowWise:
		return targetRowWise
	}
	return targetElementWise
}

// warmUps returns the number of steps before the measurement, which warm up caches, branch predictors and
// page tables. A whole training needs only one.
func (c *testCase) warmUps() int {
	if c.Kind == kindTrain {
		return 1
	}
	return 3
}

// tolerance returns the largest relative difference between the checks of both sides. Sums in a different
// order differ by about 1e-7; trainings begin with different rows.
func (c *testCase) tolerance() float64 {
	if c.Kind == kindTrain {
		return 0.05
	}
	return 1e-4
}

// prepared is a case with its input values. The peer reads them from files, so that both sides have the
// same values.
type prepared struct {
	testCase
	folder string
	files  map[string]string // paths by name
	arrays map[string][]float32
	ids    []int64           // of a sparse case
	data   *datasets.Dataset // of a training
	// Tandem computes with these.
	pool     *parallel.Pool
	arena    *memory.Arena
	products gemm.Products
}

// newPrepared returns a case without values. Its method remove deletes the files and frees the memory.
func newPrepared(c testCase) (*prepared, error) {
	p := &prepared{
		testCase: c,
		files:    map[string]string{},
		arrays:   map[string][]float32{},
		pool:     parallel.New(max(c.Threads, 1)),
		arena:    &memory.Arena{},
	}
	var err error
	if p.folder, err = os.MkdirTemp("", "tandem-speed-"); err != nil {
		return nil, fmt.Errorf("cannot create a folder for the input values: %w", err)
	}
	if p.products, _, err = blas.Open(os.Getenv(blas.Variable), p.pool); err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *prepared) remove() {
	p.pool.Close()
	_ = p.arena.Close()
	_ = os.RemoveAll(p.folder) // the rest is in the system's temporary folder
}

// freeRows gives the memory of rows that this process holds back to the system.
func (p *prepared) freeRows() {
	_ = p.arena.Close()
	p.arena = &memory.Arena{}
	debug.FreeOSMemory()
}

// add stores values under a name and writes them for the peer, in the byte order of the machine.
func (p *prepared) add(name string, values []float32) error {
	p.arrays[name] = values
	return p.write(name, values)
}

// write writes numbers for the peer only.
func (p *prepared) write(name string, numbers any) error {
	size := binary.Size(numbers)
	raw, err := binary.Append(make([]byte, 0, size), binary.NativeEndian, numbers)
	if err != nil {
		return err
	}
	p.files[name] = filepath.Join(p.folder, name)
	return os.WriteFile(p.files[name], raw, 0o600)
}

// forPeer returns the case as the peer reads it.
func (p *prepared) forPeer() any {
	return struct {
		testCase
		Files map[string]string `json:"files"`
	}{p.testCase, p.files}
}
