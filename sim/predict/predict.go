package predict

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"

	"tandem/algo/unit"
	"tandem/internal/parallel"
	"tandem/sim/cluster"
	"tandem/sim/cost"
	"tandem/sim/graph"
	"tandem/sim/param"
	"tandem/sim/system"
	"tandem/sim/timeline"
)

// SamplesDefault is the number of points of the box behind an interval.
const SamplesDefault = 256

// Options of a prediction.
type Options struct {
	// Samples is the number of points of the box behind the interval; below 2 there is none, and the ends of
	// the box are not simulated either.
	Samples int
	// WithoutEnds leaves the ends of the box out, so Worst and Best are 0.
	WithoutEnds bool
	// Seeds is the number of seeds of jitter at the middle of the box; below 2 there is no confidence
	// interval over seeds. Seed is the first.
	Seeds int
	Seed  uint64
	// Steps is the number of measured steps; 0 chooses.
	Steps int
	// Divisions is the number of divisions of slots that Divide simulates at most; 0: 31.
	Divisions int
	// Workers is the number of simulations at once; 0: as many as there are cores.
	Workers int
	// Cluster are options of every simulated run; its seeds, steps and progress are not used.
	Cluster cluster.Options
	// Timeline receives, unless it is nil, what the stations of Prediction.Mid did. It costs one more
	// simulation.
	Timeline *timeline.Timeline
	// Done is called, unless it is nil, after each simulation with how many are done and there are in all. It
	// may be called by several goroutines, one after the other. Step is called by Run after each step of the
	// first simulation of roles, with how many are done and there are in all.
	Done, Step func(done, all int)
}

// sampleSeed is the seed of the points of the box. It is the same in all predictions, so that they share
// their unknowns and can be compared point by point.
const sampleSeed = 1

// Prediction is what was predicted of a job.
type Prediction struct {
	// Mid is of roles at the middle of the box, and of a step graph at the sampled point with the median
	// throughput, if there are samples. Throughput and time of a step are means over seeds.
	Mid         Result
	Worst, Best float64 // samples a second at the two ends of the box; 0 without samples
	// Interval is the 1st and 99th percentile of the throughput over the sampled points, widened to contain
	// Mid; nil without.
	Interval *Interval
	// CI95 is the 95 % confidence interval of the mean throughput over seeds, where Mid is; nil for one seed.
	CI95 *Interval
	// Samples are the throughputs at the sampled points, in their order, with the error of the model as far
	// as the system's profile knows it; NaN where the job does not fit.
	Samples []float64
}

// Unfit returns the number of sampled points at which the job does not fit its memory.
func (p *Prediction) Unfit() (points int) {
	for _, x := range p.Samples {
		if math.IsNaN(x) {
			points++
		}
	}
	return points
}

// Interval is a range of samples a second, or of their ratios.
type Interval struct{ Low, High float64 }

// Contains reports whether a value is in the interval.
func (i Interval) Contains(x float64) bool { return i.Low <= x && x <= i.High }

// Width returns how many times as large the high end is as the low.
func (i Interval) Width() float64 { return i.High / i.Low }

// Run predicts a job. It returns the error of the run at the middle of the box; a sampled point at which the
// job does not fit its memory counts as NaN in Samples, and not in the interval. A placement of tables is
// that at the middle of the box everywhere: it is fixed before the unknowns are known. If the number of
// tables is itself unknown, they are placed at every point.
//
// The result depends on neither the number of workers nor their speed. Cost: Samples + Seeds + 2 simulations.
func Run(ctx context.Context, j *Job, o Options) (*Prediction, error) {
	p := &Prediction{}
	seeds := max(1, o.Seeds)
	var points []param.Point
	if o.Samples > 1 {
		points = j.sample(o.Samples, sampleSeed)
		if v := j.Parameters(); !o.WithoutEnds {
			points = append(points, v.Everywhere(-1), v.Everywhere(1))
		}
	}
	count := o.counter(seeds + len(points))
	j, first, err := o.place(ctx, j)
	if err != nil {
		return nil, err
	}
	sampled := make([]Result, len(points))
	err = o.each(ctx, len(points), count, func(i int) (err error) {
		if sampled[i], err = o.run(ctx, j.At(points[i]), o.Seed); DoesNotFit(err) {
			sampled[i].Throughput, err = math.NaN(), nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	middle := j
	if k := medianOf(sampled[:min(o.Samples, len(points))]); k >= 0 && first.Graph != nil {
		middle, first = j.At(points[k]), sampled[k]
	}
	if o.Timeline != nil {
		if err := o.record(ctx, middle); err != nil {
			return nil, err
		}
	}
	repeated := make([]Result, seeds)
	err = o.each(ctx, seeds, count, func(i int) (err error) {
		if repeated[i] = first; i > 0 {
			repeated[i], err = o.run(ctx, middle, o.Seed+uint64(i))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	p.Mid = first
	p.Mid.Throughput, p.Mid.StepTime = means(repeated)
	p.CI95 = confidence(repeated)
	if len(points) > 0 {
		for _, r := range sampled[:o.Samples] {
			p.Samples = append(p.Samples, r.Throughput)
		}
		j.addErrors(p.Samples)
		if !o.WithoutEnds {
			p.Worst, p.Best = sampled[o.Samples].Throughput, sampled[o.Samples+1].Throughput
		}
		if p.Interval = Percentiles(p.Samples); p.Interval != nil {
			p.Interval.Low = min(p.Interval.Low, p.Mid.Throughput)
			p.Interval.High = max(p.Interval.High, p.Mid.Throughput)
		}
	}
	return p, nil
}

// each calls a function for all numbers below n, some at once, and returns the error of the first that has
// one.
func (o *Options) each(ctx context.Context, n int, count func(), f func(i int) error) error {
	errs := make([]error, n)
	parallel.ForEach(workers(o), n, func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			errs[i] = f(i)
		}
		count()
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// medianOf returns the place of the result with the median throughput, the lower of two; −1 if none has one.
func medianOf(results []Result) int {
	var known []int
	for i := range results {
		if !math.IsNaN(results[i].Throughput) {
			known = append(known, i)
		}
	}
	if len(known) == 0 {
		return -1
	}
	slices.SortStableFunc(known, func(a, b int) int {
		return cmp.Compare(results[a].Throughput, results[b].Throughput)
	})
	return known[(len(known)-1)/2]
}

// Median returns the median of values, leaving out NaN; NaN if nothing is left.
func Median(values []float64) float64 {
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(known) == 0 {
		return math.NaN()
	}
	slices.Sort(known)
	n := len(known)
	return known[(n-1)/2] + (known[n/2]-known[(n-1)/2])/2
}

// DoesNotFit reports whether an error is about a job that does not fit the memory of its cluster.
func DoesNotFit(err error) bool {
	return errors.Is(err, cost.ErrMemory) || errors.Is(err, graph.ErrMemory)
}

// counter returns a function that reports one more of all simulations to Done.
func (o *Options) counter(all int) func() {
	if o.Done == nil {
		return func() {}
	}
	var mu sync.Mutex
	done := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		o.Done(done, all)
	}
}

func workers(o *Options) int {
	if o.Workers > 0 {
		return o.Workers
	}
	return parallel.Cores()
}

// Ratio returns the interval of the ratio of two predictions of the same samples, point by point: what the
// two share cancels. It is nil if either has no samples.
func Ratio(a, b *Prediction) *Interval {
	if len(a.Samples) == 0 || len(a.Samples) != len(b.Samples) {
		return nil
	}
	ratios := make([]float64, len(a.Samples))
	for i := range ratios {
		ratios[i] = a.Samples[i] / b.Samples[i]
	}
	return Percentiles(ratios)
}

// Percentiles returns the 1st and 99th percentile of values, leaving out NaN; nil if nothing is left.
func Percentiles(values []float64) *Interval {
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(known) == 0 {
		return nil
	}
	slices.Sort(known)
	at := func(q float64) float64 {
		place := q * float64(len(known)-1)
		i := int(place)
		if i+1 == len(known) {
			return known[i]
		}
		return known[i] + float64((place-float64(i))*(known[i+1]-known[i]))
	}
	return &Interval{at(0.01), at(0.99)}
}

// means returns the mean throughput of runs, and the mean time of their steps.
func means(runs []Result) (throughput float64, step unit.Tick) {
	seconds := 0.0
	for _, r := range runs {
		throughput += r.Throughput / float64(len(runs))
		seconds += r.StepTime.Seconds() / float64(len(runs))
	}
	return throughput, unit.Tick(math.Round(seconds * float64(unit.Second)))
}

// confidence returns the 95 % confidence interval of the mean throughput of independent runs, by Student's t.
func confidence(runs []Result) *Interval {
	n := float64(len(runs))
	if n < 2 {
		return nil
	}
	mean, squares := 0.0, 0.0
	for _, r := range runs {
		mean += r.Throughput / n
	}
	for _, r := range runs {
		squares += float64((r.Throughput - mean) * (r.Throughput - mean))
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	half := t * math.Sqrt(squares/(n-1)/n)
	return &Interval{mean - half, mean + half}
}

// place simulates a job, and returns the job with its tables fixed where they were placed.
func (o *Options) place(ctx context.Context, j *Job) (*Job, Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, Result{}, err
	}
	r, err := o.runWith(ctx, j, o.Seed, o.Step)
	if err != nil || r.Graph == nil || j.tablesVary() {
		return j, r, err
	}
	fixed := j.clone()
	fixed.placement = r.Graph.Rules()
	for i := range fixed.placement {
		rule := &fixed.placement[i]
		named := func(x graph.Rule) bool { return x.Table == rule.Table && len(x.Ranks) > 0 }
		if !slices.ContainsFunc(j.Placement, named) {
			rule.Ranks = nil // tables of the same layout are balanced by cost
		}
	}
	return fixed, r, nil
}

// record simulates a job once and notes what its stations did.
func (o *Options) record(ctx context.Context, j *Job) error {
	if j.Hardware.System.Architecture == system.StepGraph {
		_, err := j.runGraph(ctx, o.Steps, o.Seed, o.Timeline)
		return err
	}
	with := *o
	with.Cluster.Timeline = o.Timeline
	_, err := with.run(ctx, j, o.Seed)
	return err
}

// run simulates a job once.
func (o *Options) run(ctx context.Context, j *Job, seed uint64) (Result, error) {
	return o.runWith(ctx, j, seed, nil)
}

// runWith is run with the progress of a simulation of roles.
func (o *Options) runWith(ctx context.Context, j *Job, seed uint64, progress func(done, steps int)) (Result,
	error) {
	if j.Hardware.System.Architecture == system.StepGraph {
		return j.runGraph(ctx, o.Steps, seed, nil)
	}
	c := o.Cluster
	c.Seed, c.Measured, c.Progress = seed, o.Steps, progress
	c.SystemJitter = c.Jitter == 0
	r, err := cluster.Run(j.Hardware, j.Job, j.Layout, j.Workload, c)
	if err != nil {
		return Result{}, err
	}
	return rolesResult(&r), nil
}
