package links

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/role"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/experiments/internal/paired"
	"tandem/experiments/internal/report"
	"tandem/internal/workload"
	"tandem/runtime/probe"
	"tandem/sim/cluster"
	"tandem/sim/cost"
	"tandem/sim/predict"
)

// machine is what predictions know of the cores of this machine.
type machine struct {
	Cores  int     `json:"cores"`
	Copy   float64 `json:"copy_bytes_per_s"` // of one core, from memory to memory
	Memory float64 `json:"memory_bytes"`
	Date   string  `json:"date"`
	// PassSeconds are the times of forward and backward of a step on one rank, while all ranks compute, by
	// the number of ranks.
	PassSeconds map[int]float64 `json:"passes_s"`
}

// measureMachine measures this machine, alone and with trainings in one process.
func (p *plan) measureMachine(ctx context.Context) (m machine, err error) {
	var copies []float64
	passes := map[int][]float64{}
	for range p.repetitions {
		r, err := probe.Run()
		if err != nil {
			return m, err
		}
		m.Cores, m.Memory, m.Date = r.Cores, float64(r.Memory), r.Date
		copies = append(copies, float64(r.Copy))
		for _, ranks := range p.Ranks {
			seconds, err := p.passes(ctx, ranks)
			if err != nil {
				return m, err
			}
			passes[ranks] = append(passes[ranks], seconds)
		}
	}
	m.Copy, m.PassSeconds = report.Median(copies), map[int]float64{}
	for ranks, seconds := range passes {
		m.PassSeconds[ranks] = report.Median(seconds)
	}
	return m, nil
}

// passes returns the mean time of forward and backward of a step in a training in this process.
func (p *plan) passes(ctx context.Context, ranks int) (seconds float64, err error) {
	j := p.job(cell{Mode: job.Sync, Ranks: ranks}, p.Short)
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		return 0, err
	}
	c := paired.NewCalibration()
	if _, err := (&paired.Setup{Job: j, Data: data}).RunReal(ctx, nil, c); err != nil {
		return 0, err
	}
	for _, w := range c.Recorded(&j).Work {
		if w.Kind == role.Forward || w.Kind == role.Backward {
			seconds += w.Time.Seconds()
		}
	}
	return seconds, nil
}

// settleSteps are the steps before those that a prediction measures, as many as it measures.
const settleSteps = 30

// predictAll predicts all cells, from the machine and, for each rate, the median of what the links of its
// cells reach.
func (p *plan) predictAll(ctx context.Context, r *results) (err error) {
	if r.Inputs, err = p.inputs(); err != nil {
		return err
	}
	if r.Machine, err = p.measureMachine(ctx); err != nil {
		return err
	}
	for _, c := range r.Cells {
		var links []link
		for _, x := range r.Cells {
			if x.Rate == c.Rate {
				links = append(links, x.Link)
			}
		}
		if err := p.predict(ctx, c, median(links), &r.Machine); err != nil {
			return fmt.Errorf("%v: %w", c.cell(), err)
		}
	}
	return nil
}

// median returns the medians of what probes found.
func median(links []link) link {
	of := func(value func(l *link) float64) float64 {
		list := make([]float64, len(links))
		for i := range links {
			list[i] = value(&links[i])
		}
		return report.Median(list)
	}
	return link{
		OneWay:    of(func(l *link) float64 { return l.OneWay }),
		BothWays:  of(func(l *link) float64 { return l.BothWays }),
		RoundTrip: of(func(l *link) float64 { return l.RoundTrip }),
	}
}

// predict predicts a cell: the median over the box, which a pattern of the steps at its middle does not move.
func (p *plan) predict(ctx context.Context, r *result, l link, m *machine) error {
	j := p.job(r.cell(), p.Long)
	w, layout, err := workload.Simulated(&j.Data, &j, "")
	if err != nil {
		return err
	}
	h, err := p.hardware(r.cell(), layout, l, m)
	if err != nil {
		return err
	}
	made, err := predict.Run(ctx, &predict.Job{Job: j, Hardware: h, Workload: w, Layout: layout},
		predict.Options{Samples: p.Samples, WithoutEnds: true, Seed: p.Seed, Steps: settleSteps,
			Cluster: cluster.Options{WarmUp: settleSteps}})
	if err != nil {
		return err
	}
	batch := float64(j.Training.GlobalBatch)
	r.Simulated = batch / report.Median(made.Samples)
	r.Interval = [2]float64{batch / made.Interval.High, batch / made.Interval.Low}
	return nil
}

// hardware returns the cluster of a cell: commodity-10g with one host for each role, whose network is the
// measured link and whose cores are those of this machine. Its accelerators are as fast as the cores, which
// ranks share.
func (p *plan) hardware(c cell, layout *model.Layout, l link, m *machine) (*cost.Hardware, error) {
	section, err := job.LoadCluster("commodity-10g")
	if err != nil {
		return nil, err
	}
	section.AcceleratorsPerServer, section.NetworkRate = c.Ranks, c.Rate
	for _, hosts := range []*job.Hosts{&section.EmbeddingWorkers, &section.EmbeddingPSs, &section.Loaders} {
		hosts.Count, hosts.PerHost = 1, 1
	}
	h, _, err := cost.Load(&section, "")
	if err != nil {
		return nil, err
	}
	samples := float64(p.Job.Training.GlobalBatch) / float64(c.Ranks)
	flops := samples * float64(layout.Cost.ForwardFLOPs+layout.Cost.BackwardFLOPs)
	here := cost.ThisMachine(cost.MeasuredMachine{
		Cores: m.Cores, Memory: unit.Bytes(m.Memory),
		Multiply:  unit.FLOPsPerSec(flops / m.PassSeconds[c.Ranks]),
		CopySpeed: unit.BytesPerSec(m.Copy), RowTime: 1, MessageTime: 1, Date: m.Date,
	})
	h.Accelerator = here.Accelerator
	h.Network.Share = measured(l.BothWays/float64(c.Rate), m.Date)
	h.Network.Latency = measured(unit.Tick(l.RoundTrip/2*float64(unit.Second)), m.Date)
	for _, host := range []*quantity.Value[int]{&h.Server.Cores, &h.EmbeddingWorkers.Host.Cores,
		&h.EmbeddingPSs.Host.Cores, &h.Loaders.Host.Cores} {
		*host = here.Server.Cores
	}
	return h, nil
}

// measured returns a quantity that was measured on this machine.
func measured[U quantity.Number](value U, date string) quantity.Value[U] {
	return quantity.Value[U]{Mid: value, Kind: quantity.Measured, Source: "probe of this machine", Date: date}
}

// inputs returns a hash of the plan and of all parameters of its predictions, on a machine of round numbers:
// what was measured is beside it in the results.
func (p *plan) inputs() (string, error) {
	hash := sha256.New()
	text, err := yaml.Marshal(p)
	if err != nil {
		return "", err
	}
	hash.Write(text)
	round := machine{Cores: 2, Copy: 1e10, Memory: 1e10, Date: "2026", PassSeconds: map[int]float64{}}
	for _, c := range p.cells() {
		j := p.job(c, p.Long)
		_, layout, err := workload.Simulated(&j.Data, &j, "")
		if err != nil {
			return "", err
		}
		round.PassSeconds[c.Ranks] = 0.01
		h, err := p.hardware(c, layout, link{float64(c.Rate), float64(c.Rate), 1e-4}, &round)
		if err != nil {
			return "", err
		}
		for _, e := range h.Parameters() {
			low, middle, high := e.Span()
			fmt.Fprintln(hash, e.Name, low, middle, high)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
