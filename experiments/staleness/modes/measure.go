package modes

import (
	"context"
	"fmt"

	"tandem/algo/job"
	"tandem/algo/protocol/pace"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// Names of the clusters.
const (
	thisMachine    = "this machine"
	persiasCluster = "Persia's cluster"
)

// result holds the results of all trainings on one data set.
type result struct {
	DataSet  string        `json:"data"`
	TestRows int           `json:"test_rows"`
	Modes    []*modeResult `json:"modes"`
	// Comparisons are those of all modes on all clusters with sync on this machine.
	Comparisons []*judge.Comparison `json:"comparisons"`
}

// modeResult holds the trainings of a mode, one per seed.
type modeResult struct {
	Mode      string `json:"mode"`
	Real      []run  `json:"real"`
	Simulated []run  `json:"simulated,omitempty"` // nil for sequential, which has no roles
}

// run is a training with its speed.
type run struct {
	trial.Result
	Throughput float64        `json:"samples_per_s"`
	Staleness  pace.Staleness `json:"staleness"`
}

// measure trains in every mode under every seed on every data set.
func (p *plan) measure(ctx context.Context, lab *trial.Lab) (results []*result, err error) {
	lab.Expect(p.trainings())
	for _, w := range p.DataSets {
		r := &result{DataSet: w.Name}
		for _, mode := range p.Modes {
			r.Modes = append(r.Modes, &modeResult{Mode: mode})
		}
		if err := p.measureData(ctx, lab, w, r); err != nil {
			return nil, err
		}
		if err := p.compare(lab, w, r); err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// trainings returns how many trainings there are on all data sets: real ones and, except for sequential ones,
// simulated ones.
func (p *plan) trainings() (n int) {
	for _, mode := range p.Modes {
		n += p.Seeds
		if mode != job.Sequential {
			n += p.Seeds
		}
	}
	return n * len(p.DataSets)
}

// measureData trains in every mode under every seed, real and simulated. The order of the real trainings
// rotates from seed to seed, so that a drift of the machine favours no mode.
func (p *plan) measureData(ctx context.Context, lab *trial.Lab, w report.DataSet, r *result) error {
	var specs []trial.Spec
	var to []*[]run
	for i := range p.Seeds {
		seed := p.Seed + uint64(i)
		for at := range r.Modes {
			m := r.Modes[(at+i)%len(r.Modes)]
			specs, to = append(specs, p.spec(w, m.Mode, seed, false)), append(to, &m.Real)
		}
		for _, m := range r.Modes {
			if m.Mode != job.Sequential {
				specs, to = append(specs, p.spec(w, m.Mode, seed, true)), append(to, &m.Simulated)
			}
		}
	}
	trained, err := lab.Run(ctx, specs)
	if err != nil {
		return err
	}
	for i, one := range trained {
		if one.Diverged != "" {
			return fmt.Errorf("%s: %s", specs[i].Name, one.Diverged)
		}
		r.TestRows = one.TestRows
		*to[i] = append(*to[i], run{Result: one, Staleness: one.Staleness,
			Throughput: float64(p.Job.Training.GlobalBatch) / one.StepSeconds})
	}
	return nil
}

// spec returns the training of a mode.
func (p *plan) spec(w report.DataSet, mode string, seed uint64, simulated bool) trial.Spec {
	j := p.job(mode, seed)
	j.Data = w.WithSeed(seed)
	cluster := thisMachine
	if simulated {
		j.Cluster, cluster = job.PersiaCluster(), persiasCluster
	}
	return trial.Spec{Job: j, Part: trial.Test, Simulated: simulated,
		Name: fmt.Sprintf("%s, %s, seed %d, %s", w.Name, mode, seed, cluster)}
}

// values returns a quantity of runs.
func values(runs []run, quantity func(r *run) float64) []float64 {
	list := make([]float64, len(runs))
	for i := range runs {
		list[i] = quantity(&runs[i])
	}
	return list
}

func auc(r *run) float64        { return r.AUC }
func logLoss(r *run) float64    { return r.LogLoss }
func throughput(r *run) float64 { return r.Throughput }

// find returns the results of a mode.
func (r *result) find(mode string) *modeResult {
	for _, m := range r.Modes {
		if m.Mode == mode {
			return m
		}
	}
	return nil
}

// compare creates the comparisons of a data set. Sync gives the same bits on any cluster.
func (p *plan) compare(lab *trial.Lab, w report.DataSet, r *result) error {
	specs := func(mode string, simulated bool) (list []trial.Spec) {
		for i := range p.Seeds {
			list = append(list, p.spec(w, mode, p.Seed+uint64(i), simulated))
		}
		return list
	}
	quality := func(runs []run) judge.Quality {
		return judge.Quality{AUC: values(runs, auc), LogLoss: values(runs, logLoss)}
	}
	sync := r.find(job.Sync)
	for _, m := range r.Modes {
		for _, c := range m.clusters() {
			if m == sync && c.name == thisMachine {
				continue
			}
			one := judge.Pair(r.DataSet, m.Mode+", "+c.name, job.Sync, p.Seed, quality(c.runs),
				quality(sync.Real))
			var err error
			one.RowDeviation, err = lab.RowDeviation(specs(m.Mode, c.name == persiasCluster),
				specs(job.Sync, false))
			if err != nil {
				return err
			}
			r.Comparisons = append(r.Comparisons, one)
		}
	}
	return nil
}

// comparisons returns the comparisons of all data sets, judged.
func comparisons(results []*result) []*judge.Comparison {
	var list []*judge.Comparison
	for _, r := range results {
		list = append(list, r.Comparisons...)
	}
	judge.Judge(list)
	return list
}

// comparison returns the comparison of a mode on a cluster, or that of sync with itself.
func (r *result) comparison(mode string, c *clusterRuns) *judge.Comparison {
	for _, one := range r.Comparisons {
		if one.Treated == mode+", "+c.name {
			return one
		}
	}
	return &judge.Comparison{}
}
