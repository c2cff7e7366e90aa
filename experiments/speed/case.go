package speed

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/datasets"
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

// kinds lists them, in the order of reports.
func kinds() []string { return []string{kindDense, kindSparse, kindTrain, kindLookup, kindUpdate} }

// testCase is one thing that both sides do for some seconds.
type testCase struct {
	Kind    string  `json:"kind" yaml:"kind"`
	Batch   int     `json:"batch" yaml:"batch"` // samples a step
	Threads int     `json:"threads" yaml:"threads"`
	Net     *net    `json:"net,omitempty" yaml:"net,omitempty"`
	Rows    *rows   `json:"rows,omitempty" yaml:"rows,omitempty"`
	Corpus  *corpus `json:"corpus,omitempty" yaml:"corpus,omitempty"`
	// Wanted is the least ratio of rates, Tandem's to PyTorch's, that is called ok;
	// 0: it is only reported.
	Target float64 `json:"target,omitempty" yaml:"target,omitempty"`
}

// net is a network, in the words of both sides.
type net struct {
	Name    string `json:"-" yaml:"name"` // in tables
	Kind    string `json:"kind" yaml:"kind"`
	Dim     int    `json:"dim" yaml:"embedding-dim"`
	Slots   int    `json:"slots" yaml:"slots"`     // embeddings of a sample
	Numeric int    `json:"numeric" yaml:"numeric"` // numbers of a sample
	Bottom  []int  `json:"bottom" yaml:"bottom,flow,omitempty"`
	Top     []int  `json:"top" yaml:"top,flow"`
}

// spec returns the network for Tandem.
func (n *net) spec() model.Spec {
	return model.Spec{Kind: n.Kind, EmbeddingDim: n.Dim, Bottom: n.Bottom, Top: n.Top, Activation: model.ReLU}
}

// String names a case in tables and errors, threads left out.
func (c *testCase) String() string {
	if c.Rows != nil {
		what := map[string]string{kindSparse: "sparse step", kindLookup: "lookup", kindUpdate: "update"}[c.Kind]
		return fmt.Sprintf("%s, dim %d, %s", what, c.Rows.Dim, c.Rows.Distribution)
	}
	return map[string]string{kindDense: "dense step, ", kindTrain: "training, "}[c.Kind] + c.Net.Name
}

// hasPeer reports whether PyTorch does the case, too.
func (c *testCase) hasPeer() bool { return c.Kind != kindLookup && c.Kind != kindUpdate }

// warmUps is the number of steps that caches, branch predictors and page tables get
// before time is taken; a whole training needs but one.
func (c *testCase) warmUps() int {
	if c.Kind == kindTrain {
		return 1
	}
	return 3
}

// tolerance is how far apart both sides may be when they are warm, of the value.
// Sums in another order differ, by 1e-7 here; trainings begin with other rows.
func (c *testCase) tolerance() float64 {
	if c.Kind == kindTrain {
		return 0.05
	}
	return 1e-4
}

// prepared is a case with what both sides compute on. The peer reads it from
// files, so that it has the same values.
type prepared struct {
	testCase
	folder string
	files  map[string]string // by name
	arrays map[string][]float32
	ids    []int64           // of a sparse case
	data   *datasets.Dataset // of a training
	// What Tandem computes on.
	pool     *parallel.Pool
	arena    memory.Arena
	products gemm.Products
}

// newPrepared returns a case without values yet. Remove deletes its files and gives
// its memory back.
func newPrepared(c testCase) (*prepared, error) {
	p := &prepared{testCase: c, files: map[string]string{}, arrays: map[string][]float32{}, pool: parallel.New(max(c.Threads, 1))}
	var err error
	if p.folder, err = os.MkdirTemp("", "tandem-speed-"); err != nil {
		return nil, fmt.Errorf("no room for what both sides read: %w", err)
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
	_ = os.RemoveAll(p.folder) // what stays is in the system's folder for such
}

// add keeps values under a name and writes them for the peer, as numbers of the
// machine's byte order.
func (p *prepared) add(name string, values []float32) error {
	p.arrays[name] = values
	return p.write(name, values)
}

// write writes numbers for the peer alone.
func (p *prepared) write(name string, numbers any) error {
	size := binary.Size(numbers)
	raw, err := binary.Append(make([]byte, 0, size), binary.NativeEndian, numbers)
	if err != nil {
		return err
	}
	p.files[name] = filepath.Join(p.folder, name)
	return os.WriteFile(p.files[name], raw, 0o600)
}

// forPeer is the case as the peer reads it.
func (p *prepared) forPeer() any {
	return struct {
		testCase
		Files map[string]string `json:"files"`
	}{p.testCase, p.files}
}
