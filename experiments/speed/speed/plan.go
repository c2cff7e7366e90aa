package speed

import (
	"slices"
	"time"

	"tandem/algo/numeric/model"
	"tandem/algo/unit"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/report"
)

// plan is everything that is fixed before the first measurement.
type plan struct {
	Rounds int           `yaml:"rounds"`
	Window time.Duration `yaml:"window"` // the time of a side in a round, at least one step
	Cases  []testCase    `yaml:"cases"`
	Engine string        `yaml:"engine"` // multiplies Tandem's matrices
	// Memory is what the sides may use together, 0 if unknown. TooLarge names the cases that are left out,
	// because one side alone would need more.
	Memory   unit.Bytes `yaml:"memory"`
	TooLarge []string   `yaml:"too-large,omitempty"`
	// PyTorch describes the peer. It is nil without a peer, for the reason NoPyTorch.
	PyTorch   *about `yaml:"pytorch,omitempty"`
	NoPyTorch string `yaml:"no-pytorch,omitempty"`
	// FBGEMM and NoFBGEMM are the same of the second peer, of sparse steps and of trainings with row-wise
	// Adagrad.
	FBGEMM   *about `yaml:"fbgemm,omitempty"`
	NoFBGEMM string `yaml:"no-fbgemm,omitempty"`
}

// Targets for the ratio of Tandem's rate to PyTorch's, to FBGEMM's, or to a limit.
//
// Source: the budgets of the design, and targets that were set for this comparison before its first run.
const (
	targetTower       = 0.9
	targetSparse      = 5
	targetRowWise     = 1.0 // of FBGEMM's row-wise step
	targetElementWise = 2.0 // of FBGEMM's element-wise step
	targetTrainTower  = 0.9
	targetTrainSmall  = 3
	targetLookup      = 0.45
	targetUpdate      = 0.55
	targetOverhead    = 24.0 // bytes a row, at most
	targetShare       = 0.85 // of the rate that the pieces of work of a training allow
)

// small returns the network of cmd/train/jobs/criteo-shaped.yaml.
func small() *pytorch.Network {
	return &pytorch.Network{Name: "64-32", Kind: model.FeedForward, Dim: 16, Slots: 26, Numeric: 13,
		Top: []int{64, 32}}
}

// memoryShare is the part of the available memory that the rows of all sides may take. The rest is for the
// index of rows, gradients, Python and other programs.
const memoryShare = 0.8

// newPlan returns the plan of the quick or the full version, with the chosen cases that fit in the available
// memory, 0 if that is unknown.
func newPlan(o report.Options, chosen choice, available unit.Bytes) (*plan, error) {
	p := &plan{Rounds: o.Seeds, Window: time.Second, Memory: unit.Bytes(memoryShare * float64(available))}
	if o.Quick {
		p.Window = 300 * time.Millisecond
	}
	cases, err := chosen.of(slices.Concat(
		denseCases(o.Quick), sparseCases(o.Quick), rowCases(o.Quick), trainCases(o.Quick)))
	for _, c := range cases {
		if p.fits(&c, 1) {
			p.Cases = append(p.Cases, c)
		} else if name := c.String(); !slices.Contains(p.TooLarge, name) {
			p.TooLarge = append(p.TooLarge, name)
		}
	}
	return p, err
}

// fits reports whether the rows of a case fit in memory once for each of a number of sides.
func (p *plan) fits(c *testCase, sides int) bool {
	return p.Memory == 0 || unit.Bytes(sides)*c.bytes() <= p.Memory
}

// denseCases returns steps of the dense networks.
func denseCases(quick bool) (cases []testCase) {
	batches := []int{256, 4096}
	if quick {
		batches = batches[:1]
	}
	for _, n := range []*pytorch.Network{pytorch.Tower(), pytorch.DLRM()} {
		target := 0.0
		if n.Name == pytorch.Tower().Name {
			target = targetTower
		}
		for _, samples := range batches {
			for _, threads := range []int{1, 2} {
				cases = append(cases,
					testCase{Kind: kindDense, Batch: samples, Threads: threads, Net: n, Target: target})
			}
		}
	}
	return cases
}

// slots is the number of embedding tables, as in Criteo's data.
const slots = 26

// newRows returns a total number of rows, in a table per slot.
func newRows(total, dim int, distribution string) *rows {
	return &rows{Total: total, Dim: dim, Slots: slots, Each: total / slots, Distribution: distribution}
}

// grid is a product of properties of cases with rows.
type grid struct {
	totals, dims, batches, threads []int
	distributions                  []string
}

// each calls a function with the rows, batch and threads of every case.
func (g *grid) each(add func(r *rows, batch, threads int)) {
	for _, total := range g.totals {
		for _, dim := range g.dims {
			for _, distribution := range g.distributions {
				for _, batch := range g.batches {
					for _, threads := range g.threads {
						add(newRows(total, dim, distribution), batch, threads)
					}
				}
			}
		}
	}
}

// Numbers of embedding rows, of all slots together.
const (
	million    = 1_000_000
	tenMillion = 10_000_000
)

// sparseCases returns sparse steps.
func sparseCases(quick bool) (cases []testCase) {
	both := []string{uniform, zipf}
	grids := []grid{{[]int{million, tenMillion}, []int{16, 32, 64, 128}, []int{256, 4096}, []int{1, 2}, both}}
	if quick {
		grids = []grid{{[]int{million}, []int{16}, []int{4096}, []int{2}, both},
			{[]int{million}, []int{32}, []int{4096}, []int{1, 2}, both}}
	}
	for _, g := range grids {
		g.each(func(r *rows, batch, threads int) {
			for _, rowWise := range []bool{false, true} {
				cases = append(cases, testCase{Kind: kindSparse, Batch: batch, Threads: threads,
					Rows: r, RowWise: rowWise, Target: targetSparse})
			}
		})
	}
	return cases
}

// rowCases returns lookups and updates on one core, and on two for the dimension of the budgets.
func rowCases(quick bool) (cases []testCase) {
	g := grid{[]int{million, tenMillion}, []int{16, 32, 64, 128}, []int{4096}, []int{1, 2},
		[]string{uniform, zipf}}
	if quick {
		g.totals, g.dims, g.distributions = []int{million}, []int{32}, []string{uniform}
	}
	g.each(func(r *rows, batch, threads int) {
		if threads > 1 && r.Dim != 32 {
			return
		}
		for _, kind := range []string{kindLookup, kindUpdate} {
			cases = append(cases, testCase{Kind: kind, Batch: batch, Threads: threads, Rows: r})
		}
	})
	return cases
}

// trainCases returns trainings whose samples take a side about ten seconds, or about two in the quick
// version.
func trainCases(quick bool) []testCase {
	smallRows := &corpus{Train: 400_000, Test: 10_000, Epochs: 2}
	dlrmRows, dlrmBatch := &corpus{Train: 163_840, Test: 10_000, Epochs: 1}, 4096
	towerRows, towerBatch := &corpus{Train: 32_768, Test: 4096, Epochs: 1}, 4096
	if quick {
		smallRows = &corpus{Train: 100_000, Test: 4096, Epochs: 1}
		dlrmRows, dlrmBatch = &corpus{Train: 32_768, Test: 4096, Epochs: 1}, 2048
		towerRows, towerBatch = &corpus{Train: 4096, Test: 1024, Epochs: 1}, 512
	}
	return []testCase{
		{Kind: kindTrain, Batch: 4096, Threads: 2, Net: small(), Corpus: smallRows, Target: targetTrainSmall},
		{Kind: kindTrain, Batch: dlrmBatch, Threads: 2, Net: pytorch.DLRM(), Corpus: dlrmRows, RowWise: true},
		{Kind: kindTrain, Batch: towerBatch, Threads: 2, Net: pytorch.Tower(), Corpus: towerRows,
			Target: targetTrainTower},
	}
}
