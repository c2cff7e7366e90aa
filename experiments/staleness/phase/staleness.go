package phase

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // the simulated staleness
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/internal/cli"
	"tandem/sim/predict"
)

// stalenessName is the file of the simulated staleness.
const stalenessName = "staleness.yaml"

//go:embed staleness.yaml
var stalenessText []byte

// lateness is how late reads of rows are on simulated clusters.
type lateness struct {
	Command  string    `yaml:"command" json:"command"` // writes the file
	Commit   string    `yaml:"commit" json:"commit"`   // of the simulator
	Preset   string    `yaml:"preset" json:"preset"`
	Mode     string    `yaml:"mode" json:"mode"`
	Tau      int       `yaml:"tau" json:"tau"` // the bound on own staleness
	Steps    int       `yaml:"steps" json:"steps"`
	Clusters []cluster `yaml:"clusters" json:"clusters"`
}

// cluster is a size of the cluster.
type cluster struct {
	GPUs        int `yaml:"gpus" json:"gpus"`
	GlobalBatch int `yaml:"global-batch" json:"global_batch"`
	// Own and Cross are the steps of the own rank, and of each other rank, that reads have missed.
	Own   missed `yaml:"own" json:"own"`
	Cross missed `yaml:"cross" json:"cross"`
	// Late is the mean number of steps of a rank, own or other, that reads have missed. A step of all ranks
	// together moves a row as a step of the diagram does.
	Late float64 `yaml:"late" json:"late"`
	// Inflight is the mean number of batches of ranks that were outstanding at a read.
	Inflight float64 `yaml:"inflight" json:"inflight"`
}

// missed describes a distribution of missed steps.
type missed struct {
	Mean float64 `yaml:"mean" json:"mean"`
	P99  int     `yaml:"p99" json:"p99"`
	Max  int     `yaml:"max" json:"max"`
}

func describe(h *histogram.Histogram) missed { return missed{h.Mean(), h.Quantile(0.99), h.Max()} }

// loadLateness reads the stored staleness.
func loadLateness() (*lateness, error) {
	l := &lateness{}
	if err := job.Decode(stalenessText, stalenessName, l); err != nil {
		return nil, err
	}
	if len(l.Clusters) == 0 {
		return nil, fmt.Errorf("%s: no clusters", stalenessName)
	}
	return l, nil
}

// simulate simulates hybrid training of the paper's model on its cluster, at several sizes.
func simulate(ctx context.Context, gpus []int, steps int) (*lateness, error) {
	l := &lateness{
		Command: "go run ./experiments phase --redraw", Commit: cli.CurrentEnvironment().Commit,
		Preset: "persia-paper", Mode: job.Hybrid, Steps: steps,
	}
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

// shortest, longest and worst return the least and the largest mean delay over the clusters, and the largest
// 99th percentile.
func (l *lateness) shortest() float64 {
	return slices.MinFunc(l.Clusters, func(a, b cluster) int { return cmp.Compare(a.Late, b.Late) }).Late
}

func (l *lateness) longest() float64 {
	return slices.MaxFunc(l.Clusters, func(a, b cluster) int { return cmp.Compare(a.Late, b.Late) }).Late
}

func (l *lateness) worst() float64 {
	worst := 0
	for _, c := range l.Clusters {
		worst = max(worst, c.Own.P99, c.Cross.P99)
	}
	return float64(worst)
}

// write writes the staleness to a folder.
func (l *lateness) write(folder string) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "# How late reads of rows are on simulated clusters, in steps. Written by %s.\n",
		l.Command)
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(l); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, stalenessName), text.Bytes(), 0o644)
}
