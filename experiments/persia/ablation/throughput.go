package ablation

import (
	"context"
	"errors"
	"fmt"
	"math"

	"tandem/algo/metric"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/internal/parallel"
	"tandem/sim/predict"
)

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

// sign returns 1 if the gain is above 1, -1 if it is below, and 0 if its interval meets 1, give or take
// jitter and what is negligible.
func (g *gain) sign() int {
	switch {
	case g.Low > 1+max(g.Jitter, negligible):
		return 1
	case g.High < 1-max(g.Jitter, negligible):
		return -1
	}
	return 0
}

// variant is a benchmark with some optimisations on.
type variant struct {
	On         []string        `json:"on"`
	Throughput metric.Interval `json:"samples_per_s"` // at the middle, and percentiles over the points
	Step       unit.Tick       `json:"step_ns"`       // at the middle, of the first seed
	// Bottlenecks are the resources on the critical path at the middle, the largest share first.
	Bottlenecks []predict.Bottleneck `json:"bottlenecks"`

	seeds  []float64 // throughputs at the middle, by seed
	points factors
}

// named is a variant that is simulated.
type named struct {
	name string
	on   switches
}

// variants returns what is simulated of a benchmark: all on, all off, then without each and with each alone.
func (p *plan) variants() []named {
	list := []named{{"all on", everything}, {"all off", 0}}
	for i, o := range p.Optimisations {
		list = append(list, named{"without " + o.Name, everything &^ (1 << i)},
			named{"only " + o.Name, 1 << i})
	}
	return list
}

// simulateAll simulates all variants of a benchmark at the same points of its box, and compares them.
func (p *plan) simulateAll(ctx context.Context, b benchmark, meter *report.Meter) (*throughputs, error) {
	base, err := b.choice().Job()
	if err != nil {
		return nil, err
	}
	var simulated []*variant
	for _, v := range p.variants() {
		meter.Show(0, 1, b.Name+", "+v.name)
		one, err := p.simulate(ctx, base, v.on)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		simulated = append(simulated, one)
		meter.Done++
	}
	t := &throughputs{benchmark: b, All: simulated[0], None: simulated[1]}
	all := t.All.points.over(t.None.points)
	lost, gained := t.All.points.over(t.All.points), t.None.points.over(t.None.points) // products, from 1
	for i := range p.Optimisations {
		off, alone := simulated[2+2*i], simulated[3+2*i]
		t.Off, t.Alone = append(t.Off, off), append(t.Alone, alone)
		t.Lost, t.Gained = append(t.Lost, newGain(t.All, off)), append(t.Gained, newGain(alone, t.None))
		lost = lost.times(t.All.points.over(off.points))
		gained = gained.times(alone.points.over(t.None.points))
	}
	t.Total = all.spread()
	t.Products = [2]metric.Interval{lost.spread(), gained.spread()}
	t.Expected, err = p.expect(ctx, base)
	return t, err
}

func newGain(of, over *variant) gain {
	seeds := metric.MeanInterval(factors(of.seeds).over(over.seeds))
	return gain{of.points.over(over.points).spread(), (seeds.High - seeds.Low) / 2}
}

// sampleSeed is the seed of the points of the box, as of all predictions.
const sampleSeed = 1

// simulate simulates a variant: under every seed at the middle of the box, and at its points.
func (p *plan) simulate(ctx context.Context, base *predict.Job, on switches) (*variant, error) {
	box := base.Parameters()
	v := &variant{On: on.names(p.Optimisations), points: make(factors, 1+p.Samples)}
	for k := range p.Seeds {
		r, err := predict.Run(ctx, on.at(base, box.Everywhere(0)),
			predict.Options{Seed: p.Seed + uint64(k), Steps: p.Steps})
		if err != nil {
			return nil, err
		}
		if k == 0 {
			v.Step, v.Bottlenecks = r.Mid.StepTime, r.Mid.Bottlenecks
		}
		v.seeds = append(v.seeds, r.Mid.Throughput)
		v.points[0] += r.Mid.Throughput / float64(p.Seeds)
	}
	points, errs := box.Sample(p.Samples, sampleSeed), make([]error, p.Samples)
	parallel.ForEach(parallel.Cores(), len(points), func(i int) {
		r, err := predict.Run(ctx, on.at(base, points[i]), predict.Options{Seed: p.Seed, Steps: p.Steps})
		switch {
		case predict.DoesNotFit(err):
			v.points[1+i] = math.NaN()
		case err != nil:
			errs[i] = err
		default:
			v.points[1+i] = r.Mid.Throughput
		}
	})
	v.Throughput = v.points.spread()
	return v, errors.Join(errs...)
}

// factors are throughputs, or ratios of them: at the middle of the box, then at its points.
type factors []float64

func (f factors) over(g factors) factors {
	out := make(factors, len(f))
	for i := range f {
		out[i] = f[i] / g[i]
	}
	return out
}

func (f factors) times(g factors) factors {
	out := make(factors, len(f))
	for i := range f {
		out[i] = f[i] * g[i]
	}
	return out
}

func (f factors) spread() metric.Interval { return paper.Spread(f[0], f[1:]) }

// expectation is what a closed form expects of the throughput with an optimisation ÷ without. Of a schedule
// it is one number. Of a saving of a resource it is between 1, if the resource does not bind, and the
// factor of the saving, if nothing else does.
type expectation struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// expect returns what is expected of each optimisation at the middle of the inputs. The times of the stages
// are from a run in which they are alone.
func (p *plan) expect(ctx context.Context, base *predict.Job) ([]expectation, error) {
	middle := base.Parameters().Everywhere(0)
	alone := (everything &^ (async | overlap | ahead)).at(base, middle)
	r, err := predict.Run(ctx, alone, predict.Options{Seed: p.Seed, Steps: p.Steps})
	if err != nil {
		return nil, err
	}
	steps := closedForms(r.Mid.Roles.StageTimes, r.Mid.StepTime, paper.BucketShares(base))
	var list []expectation
	for i := range p.Optimisations {
		one := switches(1) << i
		if without, ok := steps[everything&^one]; ok {
			f := without.Seconds() / steps[everything].Seconds()
			list = append(list, expectation{f, f})
			continue
		}
		g := one.saving(everything.at(base, middle), (everything&^one).at(base, middle))
		list = append(list, expectation{min(1, g), max(1, g)})
	}
	return list, nil
}

// closedForms returns the times of a step, by what is on, from the durations of stages that are alone, in a
// step of a length, and the shares of the buckets in the dense parameters. What the step has beside the
// stages is the reading and dealing of the batch.
//
//	all on                 max(GE, PEG, FC + pipeline of BC and DS)
//	without DS during BC   max(GE, PEG, FC + BC + DS)
//	without async rows     GE + FC + pipeline of BC and DS + PEG
//	without batches ahead  reading + GE + FC + pipeline of BC and DS + PEG
//
// Source: the schedules of the Gantt chart of Persia's paper, written as times.
func closedForms(t pace.StageTimes, step unit.Tick, shares []float64) map[switches]unit.Tick {
	stages := t[pace.GE] + t[pace.FC] + t[pace.BC] + t[pace.DS] + t[pace.PEG]
	pipelined := t[pace.FC] + paper.Pipeline(t[pace.BC], t[pace.DS], shares)
	serial := t[pace.GE] + pipelined + t[pace.PEG]
	return map[switches]unit.Tick{
		everything:            max(t[pace.GE], t[pace.PEG], pipelined),
		everything &^ overlap: max(t[pace.GE], t[pace.PEG], t[pace.FC]+t[pace.BC]+t[pace.DS]),
		everything &^ async:   serial,
		everything &^ ahead:   serial + max(0, step-stages),
	}
}

// saving returns how many times as much a job without an optimisation needs of the resource that the
// optimisation saves.
func (s switches) saving(with, without *predict.Job) float64 {
	samples := with.Training.GlobalBatch / with.Roles.Ranks
	servers := with.Hardware.EmbeddingPSs.Count.Mid * with.Hardware.EmbeddingPSs.PerHost
	busiest := func(j *predict.Job) float64 {
		return j.Workload.Distinct(samples) * j.Workload.Skew(samples, servers)
	}
	switch s {
	case halves: // bytes of a value
		return without.Wire.Precision.ValueSize() / with.Wire.Precision.ValueSize()
	case packedIDs: // bytes of the ids of a batch
		return idBytes * with.Workload.Occurrences * float64(samples) / with.Workload.Packed.IDs(samples)
	case uniqueIDs, hashing: // rows on the busiest PS
		return busiest(without) / busiest(with)
	case locks: // requests that a PS serves at a time
		ps := &with.Hardware.EmbeddingPSs
		return float64(ps.Host.Cores.Mid / ps.PerHost)
	case zeroCopy: // core time for a byte of a message
		return float64(without.Hardware.System.Messages.ByteTime.Mid) /
			float64(with.Hardware.System.Messages.ByteTime.Mid)
	}
	panic("ablation: no saving of a resource")
}
