package speed

import (
	"slices"
	"time"

	"tandem/algo/numeric/model"
	"tandem/experiments/report"
)

// plan is everything that is fixed before the first measurement.
type plan struct {
	Rounds int           `yaml:"rounds"`
	Window time.Duration `yaml:"window"` // that a side takes of a round, at least one step
	Cases  []testCase    `yaml:"cases"`
	Engine string        `yaml:"engine"` // multiplies Tandem's matrices
	// PyTorch is the peer, nil if there is none for the reason NoPyTorch.
	PyTorch   *about `yaml:"pytorch,omitempty"`
	NoPyTorch string `yaml:"no-pytorch,omitempty"`
}

// Wanted ratios of rates, Tandem's to PyTorch's or to a limit.
//
// Source: the budgets of the design, and the goals set for this comparison before
// it was first run.
const (
	targetTower      = 0.9
	targetSparse     = 5
	targetTrainTower = 0.9
	targetTrainSmall = 2
	targetLookup     = 0.45
	targetUpdate     = 0.55
	targetOverhead   = 24.0 // bytes a row, at most
	targetShare      = 0.85 // of what the pieces of a training allow
)

// tower is the network of Persia's evaluation on data of Criteo's shape, and dlrm
// that of its authors' Criteo Kaggle run.
//
// Sources: model.PersiaTower; the code published with arXiv 1906.00091, its script
// for Criteo Kaggle.
func tower() *net {
	return &net{Name: "tower", Kind: model.FeedForward, Dim: 16, Slots: 26, Numeric: 13, Top: model.PersiaTower().Top}
}

func dlrm() *net {
	return &net{Name: "DLRM", Kind: model.DLRM, Dim: 16, Slots: 26, Numeric: 13, Bottom: []int{512, 256, 64}, Top: []int{512, 256}}
}

// small is the network of cmd/train/jobs/criteo-shaped.yaml.
func small() *net {
	return &net{Name: "64-32", Kind: model.FeedForward, Dim: 16, Slots: 26, Numeric: 13, Top: []int{64, 32}}
}

// newPlan returns the cases of the quick version or of the whole one.
func newPlan(o report.Options) plan {
	p := plan{Rounds: o.Seeds, Window: time.Second}
	if o.Quick {
		p.Window = 300 * time.Millisecond
	}
	p.Cases = slices.Concat(denseCases(o.Quick), sparseCases(o.Quick), rowCases(o.Quick), trainCases(o.Quick))
	return p
}

func denseCases(quick bool) (cases []testCase) {
	batches := []int{256, 4096}
	if quick {
		batches = batches[:1]
	}
	for _, n := range []*net{tower(), dlrm()} {
		target := 0.0
		if n.Name == tower().Name {
			target = targetTower
		}
		for _, samples := range batches {
			for _, threads := range []int{1, 2} {
				cases = append(cases, testCase{Kind: kindDense, Batch: samples, Threads: threads, Net: n, Target: target})
			}
		}
	}
	return cases
}

// Of embedding rows there are rowsMost, or as many as both sides can hold: they and
// their state take up to tableBytes.
const (
	rowsMost   = 10_000_000
	tableBytes = 2_600_000_000
	rowsQuick  = 1_000_000
)

func rowCount(dim int, quick bool) int {
	if quick {
		return rowsQuick
	}
	return min(rowsMost, tableBytes/(2*4*dim))
}

func sparseCases(quick bool) (cases []testCase) {
	const slots = 26
	for _, dim := range []int{16, 32, 64, 128} {
		for _, distribution := range []string{uniform, zipf} {
			for _, samples := range []int{256, 4096} {
				for _, threads := range []int{1, 2} {
					if quick && (samples < 4096 || dim > 32 || dim == 16 && threads == 1) {
						continue
					}
					cases = append(cases, testCase{Kind: kindSparse, Batch: samples, Threads: threads, Target: targetSparse,
						Rows: &rows{Dim: dim, Slots: slots, Each: rowCount(dim, quick) / slots, Distribution: distribution}})
				}
			}
		}
	}
	return cases
}

// rowCases are of one core, and of two for the dimension that the budgets are for.
func rowCases(quick bool) (cases []testCase) {
	for _, dim := range []int{16, 32, 64, 128} {
		for _, distribution := range []string{uniform, zipf} {
			for _, threads := range []int{1, 2} {
				for _, kind := range []string{kindLookup, kindUpdate} {
					if dim != 32 && (quick || threads > 1) || quick && distribution == zipf {
						continue
					}
					cases = append(cases, testCase{Kind: kind, Batch: 4096, Threads: threads,
						Rows: &rows{Dim: dim, Slots: 26, Each: rowCount(dim, quick) / 26, Distribution: distribution}})
				}
			}
		}
	}
	return cases
}

// trainCases are trainings of so many samples that a side takes about ten seconds
// for one, or about two if quick.
func trainCases(quick bool) []testCase {
	smallRows, towerRows, towerBatch := &corpus{Train: 400_000, Test: 10_000, Epochs: 2}, &corpus{Train: 32_768, Test: 4096, Epochs: 1}, 4096
	if quick {
		smallRows, towerRows, towerBatch = &corpus{Train: 100_000, Test: 4096, Epochs: 1}, &corpus{Train: 4096, Test: 1024, Epochs: 1}, 512
	}
	return []testCase{
		{Kind: kindTrain, Batch: 4096, Threads: 2, Net: small(), Corpus: smallRows, Target: targetTrainSmall},
		{Kind: kindTrain, Batch: towerBatch, Threads: 2, Net: tower(), Corpus: towerRows, Target: targetTrainTower},
	}
}
