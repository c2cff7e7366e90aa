package phase

import (
	"context"
	_ "embed" // columns
	"math"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/sim/predict"
)

//go:embed columns.yaml
var columnsText []byte

// column is an id column of a public data set.
type column struct {
	Data   string  `yaml:"data" json:"data"`
	Name   string  `yaml:"column" json:"column"`
	IDs    int64   `yaml:"ids" json:"ids"`
	Top    float64 `yaml:"top" json:"top"` // share of rows with the most frequent id
	Source string  `yaml:"source" json:"source"`
	Note   string  `yaml:"note,omitempty" json:"note,omitempty"`
	// Regions are what was measured around it by optimizer, at the tuned rate and the longest mean delay.
	Regions map[string]region `yaml:"-" json:"regions"`
}

// placeColumns sets the columns and their places on the clusters.
func (r *result) placeColumns() error {
	var file struct {
		Columns []column `yaml:"columns"`
	}
	if err := job.Decode(columnsText, "columns.yaml", &file); err != nil {
		return err
	}
	r.Columns = file.Columns
	d := r.diagram()
	_, longest, _ := r.Lateness.delays()
	for i := range r.Columns {
		c := &r.Columns[i]
		c.Regions = map[string]region{}
		for _, kind := range r.kinds() {
			c.Regions[kind] = d.find(kind, c.Top, longest).Region
		}
	}
	return nil
}

// lateness is how late reads of rows are on simulated clusters.
type lateness struct {
	Preset   string    `json:"preset"`
	Mode     string    `json:"mode"`
	Tau      int       `json:"tau"` // the bound on own staleness
	Steps    int       `json:"steps"`
	Clusters []cluster `json:"clusters"`
}

// cluster is a size of the cluster.
type cluster struct {
	GPUs        int `json:"gpus"`
	GlobalBatch int `json:"global_batch"`
	// Own and Cross are the steps of the own rank, and of each other rank, that reads have missed.
	Own   missed `json:"own"`
	Cross missed `json:"cross"`
	// Late is the mean number of steps of a rank, own or other, that reads have missed. A step of all ranks
	// together moves a row as a step of the diagram does.
	Late float64 `json:"late"`
	// Inflight is the mean number of batches of ranks that were outstanding at a read.
	Inflight float64 `json:"inflight"`
}

// missed describes a distribution of missed steps.
type missed struct {
	Mean float64 `json:"mean"`
	P99  int     `json:"p99"`
	Max  int     `json:"max"`
}

func describe(h *histogram.Histogram) missed { return missed{h.Mean(), h.Quantile(0.99), h.Max()} }

// simulate simulates a number of steps of hybrid training of the paper's model on its cluster, at several
// sizes.
func simulate(ctx context.Context, gpus []int, steps int) (*lateness, error) {
	l := &lateness{Preset: "persia-paper", Mode: job.Hybrid, Steps: steps}
	for _, n := range gpus {
		j, _, err := predict.New(predict.Choice{Preset: l.Preset, GPUs: n, Mode: l.Mode})
		if err != nil {
			return nil, err
		}
		l.Tau = *j.Training.Staleness
		p, err := predict.Run(ctx, j, predict.Options{Seed: 1, Steps: steps})
		if err != nil {
			return nil, err
		}
		s := &p.Mid.Roles.Staleness
		l.Clusters = append(l.Clusters, cluster{
			GPUs: n, GlobalBatch: j.Training.GlobalBatch, Own: describe(&s.Own), Cross: describe(&s.Cross),
			Late:     (s.Own.Mean() + float64(n-1)*s.Cross.Mean()) / float64(n),
			Inflight: s.Inflight.Mean(),
		})
	}
	return l, nil
}

// delays returns the least and the largest mean delay over the clusters, and the largest 99th percentile.
func (l *lateness) delays() (shortest, longest, worst float64) {
	shortest = math.Inf(1)
	for _, c := range l.Clusters {
		shortest, longest = min(shortest, c.Late), max(longest, c.Late)
		worst = max(worst, float64(c.Own.P99), float64(c.Cross.P99))
	}
	return shortest, longest, worst
}
