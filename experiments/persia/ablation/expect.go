package ablation

import (
	"context"

	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/experiments/internal/paper"
	"tandem/sim/predict"
)

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
