// Package capacity compares predictions with the capacity experiment of the paper on Persia: models of 6.25
// to 100 trillion parameters on 64 A100s.
package capacity

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	mostRows := 0
	return report.Study(report.Experiment{
		Name: "capacity",
		Question: "Does the simulator predict the throughput of 6 to 100 trillion parameters, and what " +
			"does not fit?",
		Help: `Predicts the capacity experiment of the paper on Persia: Criteo-Syn with 6.25, 12.5,
25, 50 and 100 T parameters on 64 A100s of the cluster persia-gcp, in mode hybrid,
and at 100 T also in modes sync, async-average and, in the full version, async-ps at
the middle of the inputs. No input is from the figures.

  fit       100 T in half and in single precision, on 30 and on 10 PS hosts: bytes
            needed, bytes there, accepted or refused.
  control   the same sizes on PSs that are slower together: 30 hosts of 2 cores,
            and 10 and 1 of many times the memory. Target at 100 T on 2 cores a
            host: at least 20 % slower than with all, bound by PSs.
  look-ups  measured on this machine: rows of 60 bytes in tables of 10⁶ rows to the
            most that fit in 20 GB and in memory, read and updated at random, beside
            the time that the simulator prices. Its memory is measured by chases
            that share no code with the store. Target: within 15 %.

The quick version has the smallest and the largest size only, and tables of up to
10⁷ rows (1.3 GB of memory). The full version ranks
the inputs by total effects, and searches how large each input alone must be for the
ratios of modes in the paper and for the control. It takes some minutes.`,
		QuickTime: 90 * time.Second,
		AddFlags: func(flags *pflag.FlagSet) {
			flags.IntVar(&mostRows, "most-rows", 0, "measure look-ups in tables of up to this number of "+
				"rows of 60 bytes, as far as they fit in 20 GB and in memory (default all that fit; with "+
				"--quick 10000000)")
		},
	}, func(o report.Options) (*plan, error) {
		return &plan{newPlan(o), newCurvePlan(o, mostRows)}, checkRows(mostRows)
	}, (*plan).measure, (*plan).report)
}

// plan is everything that is fixed before the first prediction.
type plan struct {
	*paper.Plan `yaml:",inline"`
	LookUps     *curvePlan `yaml:"look-ups"`
}

const (
	cluster = "persia-gcp"
	gpus    = 64
	// boundSteps is the number of measured steps of a run whose PSs bind: their queues take tens of steps to
	// fill, and 16 steps, as other runs have, are up to a fifth too fast.
	boundSteps = 96
	// readingError is the error of a bar read from the figure, in million samples a second.
	readingError = 0.02
)

// At 100 T, the bars of async and sync in million samples a second, and hybrid ÷ sync as printed.
const (
	asyncRate  = 2.16
	syncRate   = 0.73
	hybridSync = 2.6
)

// size is a model of the figure, with its bar in million samples a second.
type size struct {
	trillions float64
	model     string
	rate      float64
}

// sizes returns the bars, read from the figure.
func sizes() []size {
	return []size{
		{6.25, "criteo-syn-6t", 1.80}, {12.5, "criteo-syn-12t", 1.86}, {25, "criteo-syn-25t", 1.90},
		{50, "criteo-syn-50t", 1.84}, {100, "criteo-syn-100t", 1.91},
	}
}

// smallest and largest return the models at the ends.
func smallest() size { return sizes()[0] }
func largest() size  { return sizes()[4] }

// simulated returns the sizes of the quick or the full version.
func simulated(o report.Options) []size {
	if o.Quick {
		return []size{smallest(), largest()}
	}
	return sizes()
}

// name returns the name of a case of hybrid training on the cluster of the paper.
func (s size) name() string { return fmt.Sprintf("%g T, hybrid", s.trillions) }

// modeName returns the name of the case of 100 T in a mode.
func modeName(mode string) string { return "100 T, " + mode }

// control is a cluster with PSs that are slower together than those of the paper, and have enough memory.
type control struct {
	hosts  int
	memory string // of each host
	cores  string // of each host; empty: those of the paper
}

// few returns the controls. The first has so few cores that PSs bind, as its busy shares must show; the
// others have the rates of their number of hosts, and 360 TB.
func few() []control { return []control{{30, "36 TB", "2"}, {10, "36 TB", ""}, {1, "360 TB", ""}} }

// reference is the cluster of the paper with the memory of the first control, so that it has more memory and
// the same rates.
func reference() control { return control{30, "36 TB", ""} }

// String returns the hosts with their cores or memory.
func (c control) String() string {
	text := fmt.Sprintf("%d PS hosts of ", c.hosts)
	if c.hosts == 1 {
		text = "1 PS host of "
	}
	if c.cores != "" {
		return text + c.cores + " cores"
	}
	return text + c.memory
}

func (c control) name(s size) string { return fmt.Sprintf("%g T, %s", s.trillions, c) }

// newPlan returns the predictions of the quick or the full version.
func newPlan(o report.Options) *paper.Plan {
	p := paper.NewPlan(o, 48, 16)
	add := func(name, model, mode string, set map[string]string) *paper.Case {
		return p.Predict(name, paper.Choice{Preset: cluster, Model: model, Mode: mode, GPUs: gpus, Set: set})
	}
	flat := paper.Claim{Name: "largest-over-smallest-6t-100t",
		What: "largest ÷ smallest throughput over sizes", Unit: paper.Fold, Null: 1,
		Figure: paper.DigitisedRatio(1.91, 1.80, readingError)}
	flat.Figure.Low = 1 // part of the difference of two bars is noise
	for _, s := range simulated(o) {
		name := add(s.name(), s.model, job.Hybrid, nil).Name
		p.Claims = append(p.Claims, paper.Claim{Name: fmt.Sprintf("throughput-%dt", int(s.trillions)),
			What: name, Of: name, Unit: paper.Mega, Figure: paper.Digitised(s.rate, readingError)})
		flat.Spread = append(flat.Spread, name)
	}
	most := largest()
	hybrid, sync, async := most.name(), modeName(job.Sync), modeName(job.AsyncAverage)
	add(sync, most.model, job.Sync, nil)
	add(async, most.model, job.AsyncAverage, nil)
	p.Claims = append(p.Claims, flat, paper.Claim{
		Name: "hybrid-over-sync-100t", What: "hybrid ÷ sync, 100 T", Of: hybrid, Over: sync,
		Unit: paper.Fold, Null: 1, Figure: paper.Printed(hybridSync, 0.1),
	})
	overHybrid := func(name, mode string) paper.Claim {
		return paper.Claim{Name: name, What: mode + " ÷ hybrid, 100 T", Of: modeName(mode), Over: hybrid,
			Unit: paper.Fold, Null: 1, Figure: paper.DigitisedRatio(asyncRate, most.rate, readingError)}
	}
	p.Claims = append(p.Claims, overHybrid("async-over-hybrid-100t", job.AsyncAverage))
	if !o.Quick {
		add(modeName(job.AsyncPS), most.model, job.AsyncPS, nil).MiddleOnly = true
		p.Claims = append(p.Claims, overHybrid("async-ps-over-hybrid-100t", job.AsyncPS))
	}
	addControl := func(c control, s size) *paper.Case {
		set := map[string]string{"embedding-ps.count": strconv.Itoa(c.hosts),
			"embedding-ps.memory": strings.ReplaceAll(c.memory, " ", "")}
		if c.cores != "" {
			set["embedding-ps.cores"] = c.cores
		}
		return add(c.name(s), s.model, job.Hybrid, set)
	}
	addControl(reference(), most)
	for i, c := range few() {
		for _, s := range simulated(o) {
			added := addControl(c, s)
			added.MiddleOnly = s != smallest() && s != most || o.Quick && i > 0
			if i == 0 {
				added.Steps = boundSteps
			}
		}
	}
	if !o.Quick {
		p.Totals = []string{hybrid}
		p.Causes = []paper.Cause{
			{What: "hybrid ÷ sync at 100 T", Of: hybrid, Over: sync, Target: hybridSync},
			{What: "async-average ÷ hybrid at 100 T", Of: async, Over: hybrid, Target: 1.13},
			{What: "10 PS hosts ÷ 30 at 100 T", Of: few()[1].name(most), Over: reference().name(most),
				Target: 1 - slowerLeast, Names: []string{ // how fast PSs are
					"embedding-ps.cores", "embedding-ps.core-speed", "embedding-ps.memory-bandwidth",
					"embedding-ps.random-rows-per-second", "embedding-ps.memory-latency",
					"embedding-ps.remote-memory-latency", "embedding-ps.huge-page-share",
					"embedding-ps.network", "system.embedding-ps.threads",
					"system.embedding-ps.read.misses", "system.embedding-ps.update.misses",
				}},
		}
	}
	return p
}

// measure predicts all throughputs, asks what fits, and measures and simulates the look-up curve.
func (p *plan) measure(ctx context.Context, o report.Options) (*results, error) {
	r, err := p.Measure(ctx, o)
	if err != nil {
		return nil, err
	}
	out := &results{Results: r.Results, Controls: controls(r)}
	onFirst := few()[0]
	out.Flatness = r.Ratio(onFirst.name(largest()), onFirst.name(smallest())).Interval()
	if out.Fits, err = fits(ctx); err != nil {
		return nil, err
	}
	out.LookUps, err = p.LookUps.measure(ctx, o)
	return out, err
}
