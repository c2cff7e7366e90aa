package speed

import (
	"slices"
	"time"

	"tandem/algo/numeric/model"
	"tandem/experiments/pytorch"
	"tandem/experiments/report"
)

// plan is everything that is fixed before the first measurement.
type plan struct {
	Rounds int           `yaml:"rounds"`
	Window time.Duration `yaml:"window"` // the time of a side in a round, at least one step
	Cases  []testCase    `yaml:"cases"`
	Engine string        `yaml:"engine"` // multiplies Tandem's matrices
	// PyTorch describes the peer. It is nil without a peer, for the reason NoPyTorch.
	PyTorch   *about `yaml:"pytorch,omitempty"`
	NoPyTorch string `yaml:"no-pytorch,omitempty"`
	// FBGEMM and NoFBGEMM are the same of the second peer, of sparse steps alone.
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
	targetTrainSmall  = 2
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

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) plan {
	p := plan{Rounds: o.Seeds, Window: time.Second}
	if o.Quick {
		p.Window = 300 * time.Millisecond
	}
	p.Cases = slices.Concat(denseCases(o.Quick), sparseCases(o.Quick), rowCases(o.Quick), trainCases(o.Quick))
	return p
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

// The number of embedding rows is rowsMost, or as many as both sides can hold: rows and their state take at
// most tableBytes.
const (
	rowsMost   = 10_000_000
	tableBytes = 2_600_000_000
	rowsQuick  = 1_000_000
)

// rowCount returns the number of embedding rows of a dimension.
func rowCount(dim int, quick bool) int {
	if quick {
		return rowsQuick
	}
	return min(rowsMost, tableBytes/(2*4*dim))
}

// newRows returns rows in a number of slots.
func newRows(dim, slots int, quick bool, distribution string) *rows {
	return &rows{Dim: dim, Slots: slots, Each: rowCount(dim, quick) / slots, Distribution: distribution}
}

// sparseCases returns sparse steps.
func sparseCases(quick bool) (cases []testCase) {
	const slots = 26
	for _, dim := range []int{16, 32, 64, 128} {
		for _, distribution := range []string{uniform, zipf} {
			for _, samples := range []int{256, 4096} {
				for _, threads := range []int{1, 2} {
					if quick && (samples < 4096 || dim > 32 || dim == 16 && threads == 1) {
						continue
					}
					for _, rowWise := range []bool{false, true} {
						r := newRows(dim, slots, quick, distribution)
						r.RowWise = rowWise
						cases = append(cases, testCase{Kind: kindSparse, Batch: samples, Threads: threads,
							Target: targetSparse, Rows: r})
					}
				}
			}
		}
	}
	return cases
}

// rowCases returns lookups and updates on one core, and on two for the dimension of the budgets.
func rowCases(quick bool) (cases []testCase) {
	for _, dim := range []int{16, 32, 64, 128} {
		for _, distribution := range []string{uniform, zipf} {
			for _, threads := range []int{1, 2} {
				for _, kind := range []string{kindLookup, kindUpdate} {
					if dim != 32 && (quick || threads > 1) || quick && distribution == zipf {
						continue
					}
					cases = append(cases, testCase{
						Kind: kind, Batch: 4096, Threads: threads,
						Rows: newRows(dim, 26, quick, distribution),
					})
				}
			}
		}
	}
	return cases
}

// trainCases returns trainings whose samples take a side about ten seconds, or about two in the quick
// version.
func trainCases(quick bool) []testCase {
	smallRows := &corpus{Train: 400_000, Test: 10_000, Epochs: 2}
	towerRows, towerBatch := &corpus{Train: 32_768, Test: 4096, Epochs: 1}, 4096
	if quick {
		smallRows = &corpus{Train: 100_000, Test: 4096, Epochs: 1}
		towerRows, towerBatch = &corpus{Train: 4096, Test: 1024, Epochs: 1}, 512
	}
	return []testCase{
		{Kind: kindTrain, Batch: 4096, Threads: 2, Net: small(), Corpus: smallRows, Target: targetTrainSmall},
		{Kind: kindTrain, Batch: towerBatch, Threads: 2, Net: pytorch.Tower(), Corpus: towerRows,
			Target: targetTrainTower},
	}
}
