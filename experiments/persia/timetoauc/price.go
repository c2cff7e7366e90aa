package timetoauc

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
	"tandem/sim/cost"
	"tandem/sim/device"
	"tandem/sim/predict"
)

// setPrices sets the prices of a command line, NAME=DOLLARS an hour each, of accelerators and hosts.
func (p *plan) setPrices(texts []string) error {
	var names []string
	for _, c := range p.Clusters {
		names = append(names, c.Section.Accelerator, c.Section.Server, c.Section.EmbeddingWorkers.Profile,
			c.Section.EmbeddingPSs.Profile, c.Section.Loaders.Profile)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, text := range texts {
		name, number, _ := strings.Cut(text, "=")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !(v > 0 && v < 1e6) {
			return cli.UsageError("see --help", "--price: %q; want a profile and dollars an hour above 0, "+
				"as T4=0.35", text)
		}
		if !slices.Contains(names, name) {
			return cli.UsageError("use one of "+strings.Join(names, ", "),
				"--price: no accelerator or host of these clusters is called %q", name)
		}
		p.Prices[name] = quantity.Value[unit.Dollars]{Mid: unit.Dollars(v), Kind: quantity.Default,
			Source: "set by the user", Date: "2025"}
	}
	return nil
}

func (p *plan) setPricesOf(h *cost.Hardware) {
	set := func(name string, of *quantity.Value[unit.Dollars]) {
		if v, ok := p.Prices[name]; ok {
			*of = v
		}
	}
	set(h.Accelerator.Name, &h.Accelerator.DollarsPerHour)
	for _, host := range []*device.HostProfile{&h.Server, &h.EmbeddingWorkers.Host, &h.EmbeddingPSs.Host,
		&h.Loaders.Host} {
		set(host.Name, &host.DollarsPerHour)
	}
}

// hourly returns the dollars an hour of an option, at the point of the training of a number.
func (p *plan) hourly(o *option, number int) (float64, error) {
	h, _, err := cost.Load(&o.cluster.Section, "")
	if err != nil {
		return 0, err
	}
	p.setPricesOf(h)
	j := p.job(o, p.Seed)
	return dollarsPerHour(h, &j, p.box(number))
}

// dollarsPerHour returns the price of a job at a point: a dense PS has a host of its own.
func dollarsPerHour(h *cost.Hardware, j *job.Job, at *trial.BoxPoint) (float64, error) {
	dense := 0
	if rule, err := j.Rule(); err == nil && rule.Dense().DensePSs {
		dense = j.Roles.DensePSs
	}
	price, missing := at.Of(h).DollarsPerHour(j.Roles.Ranks, dense)
	if missing != "" {
		return 0, fmt.Errorf("%s has no price: give it one with --price %s=DOLLARS", missing, missing)
	}
	return float64(price), nil
}

// transferred is a curve that was trained on the first cluster, at the speed and price of another cluster or
// network.
type transferred struct {
	To   string `json:"to"`
	From string `json:"from"` // cluster of the curve
	GPUs int    `json:"gpus"`
	Mode string `json:"mode"`
	price
}

// transfer prices the samples that options of the first cluster have trained on until the target.
func (p *plan) transfer(ctx context.Context, r *networkResult) (list []*transferred, err error) {
	for _, t := range p.Transferred {
		for _, mode := range p.Modes {
			from := r.find(p.Clusters[0].Name, t.GPUs, mode)
			if from == nil || from.Seconds == nil {
				continue
			}
			one, err := p.transferTo(ctx, &t, from)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", t.Name, mode, err)
			}
			if one != nil {
				list = append(list, one)
			}
		}
	}
	return list, nil
}

// transferTo predicts the throughput of a cluster and model at the points of the runs of an option, and
// divides the samples of the runs by it. It returns nil if the job does not fit the memory of the cluster at
// a point.
func (p *plan) transferTo(ctx context.Context, t *transfer, from *optionResult) (*transferred, error) {
	j, _, err := predict.New(predict.Choice{Preset: t.Preset, Model: t.Model, Mode: from.Mode, GPUs: t.GPUs})
	if err != nil {
		return nil, err
	}
	p.setPricesOf(j.Hardware)
	predicted, err := predict.Run(ctx, j, predict.Options{Samples: p.Seeds, WithoutEnds: true, Steps: 16})
	if err != nil {
		return nil, err
	}
	there := optionResult{}
	for i, r := range from.Runs {
		if math.IsNaN(predicted.Samples[i]) {
			return nil, nil
		}
		hourly, err := dollarsPerHour(j.Hardware, &j.Job, p.box(i))
		if err != nil {
			return nil, err
		}
		s := float64(r.To.Samples) / predicted.Samples[i]
		there.Runs = append(there.Runs, run{To: &evaluation.Point{Seconds: s}, Dollars: s / 3600 * hourly,
			Hourly: hourly})
	}
	there.summarise()
	return &transferred{t.Name, from.Cluster, t.GPUs, from.Mode, there.price}, nil
}
