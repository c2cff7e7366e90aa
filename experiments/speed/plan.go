package speed

import (
	"time"

	"tandem/algo/model"
	"tandem/experiments/study"
)

// plan is everything that is fixed before the first measurement.
type plan struct {
	Rounds int           `yaml:"rounds"`
	Window time.Duration `yaml:"window"` // that a side takes of a round, at least one step
	Cases  []testCase    `yaml:"cases"`
	// PyTorch is the peer, nil if there is none for the reason NoPyTorch.
	PyTorch   *about `yaml:"pytorch,omitempty"`
	NoPyTorch string `yaml:"no-pytorch,omitempty"`
}

// Wanted ratios of rates, Tandem's to PyTorch's.
//
// Source: the budgets of the design, and the goals set for this comparison before
// it was first run.
const (
	wantedTower = 0.9
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

// newPlan returns the cases of the quick version or of the whole one.
func newPlan(o study.Options) plan {
	p := plan{Rounds: o.Seeds, Window: time.Second}
	batches := []int{256, 4096}
	if o.Quick {
		p.Window, batches = 300*time.Millisecond, []int{256}
	}
	for _, n := range []*net{tower(), dlrm()} {
		wanted := 0.0
		if n.Name == tower().Name {
			wanted = wantedTower
		}
		for _, samples := range batches {
			for _, threads := range []int{1, 2} {
				p.Cases = append(p.Cases, testCase{Kind: kindDense, Batch: samples, Threads: threads, Format: fp32, Net: n, Wanted: wanted})
			}
		}
	}
	return p
}
