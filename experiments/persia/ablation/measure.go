package ablation

import (
	"context"
	"errors"
	"fmt"
	"math"

	"tandem/algo/metric"
	"tandem/algo/unit"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/internal/parallel"
	"tandem/sim/predict"
)

// throughputs are the results of a benchmark.
type throughputs struct {
	benchmark
	// All and None have every optimisation on and off. Off[i] is without optimisation i, Alone[i] is with
	// that one only.
	All   *variant   `json:"all_on"`
	None  *variant   `json:"all_off"`
	Off   []*variant `json:"one_off"`
	Alone []*variant `json:"one_on"`
	// Lost[i] is the throughput of All ÷ that of Off[i], Gained[i] that of Alone[i] ÷ that of None, and Total
	// that of All ÷ that of None, each point by point.
	Lost   []gain          `json:"lost_if_off"`
	Gained []gain          `json:"gained_alone"`
	Total  metric.Interval `json:"total"`
	// Products are the products of all Lost and of all Gained, point by point: Total, if optimisations were
	// independent of each other.
	Products [2]metric.Interval `json:"products_of_lost_and_gained"`
	// OverTotal are these products ÷ Total, point by point.
	OverTotal [2]metric.Interval `json:"products_over_total"`
	// Expected is what is expected of each optimisation without a simulator.
	Expected []expectation `json:"expected"`
}

// gain is a factor of throughput: at the middle, the mean over seeds, and percentiles over the points.
type gain struct {
	metric.Interval
	// Jitter is half the 95 % interval of the mean over seeds.
	Jitter float64 `json:"jitter"`
}

// negligible is the largest distance from 1 at which a gain counts as none.
const negligible = 0.005

// effect is what a gain says.
type effect int

// The effects.
const (
	unclear effect = iota // the interval meets 1, give or take jitter and negligible
	gains                 // it is above
	harms                 // it is below
)

// effect returns what the gain says.
func (g *gain) effect() effect {
	switch {
	case g.Low > 1+max(g.Jitter, negligible):
		return gains
	case g.High < 1-max(g.Jitter, negligible):
		return harms
	}
	return unclear
}

// variant is a benchmark with some optimisations on.
type variant struct {
	On         []string        `json:"on"`
	Throughput metric.Interval `json:"samples_per_s"` // at the middle, and percentiles over the points
	Step       unit.Tick       `json:"step_ns"`       // at the middle, of the first seed
	// Bottlenecks are the resources on the critical path at the middle, the largest share first.
	Bottlenecks []predict.Bottleneck `json:"bottlenecks"`

	seeds, points []float64 // throughputs at the middle by seed, and at the points
}

// sampleSeed is the seed of the points of the box, as of all predictions.
const sampleSeed = 1

// measureThroughputs simulates all variants of every benchmark at the same points of its box.
func (p *plan) measureThroughputs(ctx context.Context, o report.Options) (list []*throughputs, err error) {
	log, err := o.NewLog("ablation.csv", "benchmark", "variant", "samples_per_s", "low", "high", "bottleneck",
		"bottleneck_share")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	variants := 2 + 2*len(p.Optimisations)
	meter := &report.Meter{Total: len(p.Benchmarks) * variants, Unit: "variants", Report: o.Progress}
	for _, b := range p.Benchmarks {
		t := &throughputs{benchmark: b}
		base, err := b.job()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		simulate := func(name string, on switches) (*variant, error) {
			meter.Show(0, 1, b.Name+", "+name)
			v, err := p.simulate(ctx, base, on)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", b.Name, name, err)
			}
			meter.Done++
			first := v.Bottlenecks[0]
			return v, log.Add(b.Name, name, report.Number(v.Throughput.Estimate),
				report.Number(v.Throughput.Low), report.Number(v.Throughput.High), first.Resource,
				report.Number(first.Share))
		}
		if err := t.fill(p.Optimisations, simulate); err != nil {
			return nil, err
		}
		if t.Expected, err = p.expect(ctx, base); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		list = append(list, t)
	}
	return list, nil
}

// fill simulates all variants and compares them.
func (t *throughputs) fill(list []optimisation, simulate func(string, switches) (*variant, error)) error {
	var err error
	run := func(to **variant, name string, on switches) {
		if err == nil {
			*to, err = simulate(name, on)
		}
	}
	run(&t.All, "all on", everything)
	run(&t.None, "all off", 0)
	t.Off, t.Alone = make([]*variant, len(list)), make([]*variant, len(list))
	for i, o := range list {
		run(&t.Off[i], "without "+o.Name, everything&^(1<<i))
		run(&t.Alone[i], "only "+o.Name, 1<<i)
	}
	if err != nil {
		return err
	}
	lost, gained := one(t.All), one(t.All)
	for i := range list {
		l, g := ratio(t.All, t.Off[i]), ratio(t.Alone[i], t.None)
		t.Lost = append(t.Lost, gain{l.spread(), jitter(t.All, t.Off[i])})
		t.Gained = append(t.Gained, gain{g.spread(), jitter(t.Alone[i], t.None)})
		lost.multiply(l)
		gained.multiply(g)
	}
	all := ratio(t.All, t.None)
	t.Total, t.Products = all.spread(), [2]metric.Interval{lost.spread(), gained.spread()}
	inverse := ratio(t.None, t.All)
	lost.multiply(inverse)
	gained.multiply(inverse)
	t.OverTotal = [2]metric.Interval{lost.spread(), gained.spread()}
	return nil
}

// simulate simulates a variant: under every seed at the middle of the box, and at its points.
func (p *plan) simulate(ctx context.Context, base *predict.Job, on switches) (*variant, error) {
	box := base.Parameters()
	v := &variant{On: on.names(p.Optimisations), seeds: make([]float64, p.Seeds),
		points: make([]float64, p.Samples)}
	options := predict.Options{Seed: p.Seed, Steps: p.Steps}
	mean := 0.0
	for k := range v.seeds {
		options.Seed = p.Seed + uint64(k)
		r, err := predict.Run(ctx, on.at(base, box.Everywhere(0)), options)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			v.Step, v.Bottlenecks = r.Mid.StepTime, r.Mid.Bottlenecks
		}
		v.seeds[k] = r.Mid.Throughput
		mean += r.Mid.Throughput / float64(p.Seeds)
	}
	options.Seed = p.Seed
	points, errs := box.Sample(p.Samples, sampleSeed), make([]error, p.Samples)
	parallel.ForEach(parallel.Cores(), len(points), func(i int) {
		r, err := predict.Run(ctx, on.at(base, points[i]), options)
		switch {
		case predict.DoesNotFit(err):
			v.points[i] = math.NaN()
		case err != nil:
			errs[i] = err
		default:
			v.points[i] = r.Mid.Throughput
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	v.Throughput = paper.Spread(mean, v.points)
	return v, nil
}

// jitter returns half the 95 % interval of the mean over seeds of the throughput of one variant ÷ that of
// another.
func jitter(of, over *variant) float64 {
	var ratios []float64
	for i, x := range of.seeds {
		ratios = append(ratios, x/over.seeds[i])
	}
	v := metric.MeanInterval(ratios)
	return (v.High - v.Low) / 2
}

// names returns the names of the optimisations that are on.
func (s switches) names(list []optimisation) (names []string) {
	for i, o := range list {
		if s.has(1 << i) {
			names = append(names, o.ID)
		}
	}
	return names
}

// factor is a ratio of throughputs at the middle and at the points of the box.
type factor struct {
	middle float64
	points []float64
}

// one returns the factor 1, at the points of a variant.
func one(of *variant) factor {
	f := factor{1, make([]float64, len(of.points))}
	for i := range f.points {
		f.points[i] = 1
	}
	return f
}

// ratio returns the throughput of one variant ÷ that of another.
func ratio(of, over *variant) factor {
	f := factor{middle: of.Throughput.Estimate / over.Throughput.Estimate}
	for i, x := range of.points {
		f.points = append(f.points, x/over.points[i])
	}
	return f
}

// multiply multiplies a factor by another.
func (f *factor) multiply(by factor) {
	f.middle *= by.middle
	for i, x := range by.points {
		f.points[i] *= x
	}
}

func (f *factor) spread() metric.Interval { return paper.Spread(f.middle, f.points) }
