package capacity

import (
	"fmt"
	"strconv"

	"tandem/algo/job"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// quickSamples is the number of points of the box of inputs in the quick version.
const quickSamples = 48

// steps is the number of measured steps of a run.
const steps = 16

// boundSteps is the number of measured steps of a run whose PSs bind: their queues take tens of steps to
// fill, and 16 steps are up to a fifth too fast.
const boundSteps = 96

// readingError is the error of a bar read from the figure, in million samples a second.
const readingError = 0.02

const (
	cluster = "persia-gcp"
	gpus    = 64
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

// simulated returns the sizes of the quick or the full version.
func simulated(o report.Options) []size {
	all := sizes()
	if o.Quick {
		return []size{all[0], largest()}
	}
	return all
}

// largest returns the model of 100 T.
func largest() size { return sizes()[4] }

// Bars at 100 T in other modes, in million samples a second. The paper prints 2.6 for hybrid ÷ sync.
const (
	asyncRate   = 2.16
	hybridSync  = 2.6
	asyncHybrid = 1.13
)

// name returns the name of a case of hybrid training on the cluster of the paper.
func (s *size) name() string { return fmt.Sprintf("%g T, hybrid", s.trillions) }

// quantity returns the name of its throughput as a quantity.
func (s *size) quantity() string { return fmt.Sprintf("throughput-%dt", int(s.trillions)) }

// asyncName returns the name of the ratio of a mode to hybrid as a quantity. The async of the paper is
// async-average.
func asyncName(mode string) string {
	if mode == job.AsyncAverage {
		return "async-over-hybrid-100t"
	}
	return mode + "-over-hybrid-100t"
}

// modeName returns the name of the case of 100 T in a mode.
func modeName(mode string) string { return "100 T, " + mode }

// control is a cluster with PSs that are slower together than those of the paper, and have enough memory.
type control struct {
	hosts    int
	terabyte int // of each host
	cores    int // of each host; 0: those of the paper
}

// few returns the controls. The first has so few cores that PSs bind, as its busy shares must show; the
// others have the rates of their number of hosts, and 360 TB.
func few() []control { return []control{{30, 36, 2}, {10, 36, 0}, {1, 360, 0}} }

// reference is the cluster of the paper with the memory of the first control, so that it has more memory and
// the same rates.
func reference() control { return control{30, 36, 0} }

// String returns the hosts with their memory.
func (c control) String() string {
	unit := "hosts"
	if c.hosts == 1 {
		unit = "host"
	}
	if c.cores > 0 {
		return fmt.Sprintf("%d PS %s of %d cores", c.hosts, unit, c.cores)
	}
	return fmt.Sprintf("%d PS %s of %d TB", c.hosts, unit, c.terabyte)
}

func (c control) name(s size) string {
	return fmt.Sprintf("%g T, %s", s.trillions, c)
}

func (c control) set() map[string]string {
	set := map[string]string{
		"embedding-ps.count": strconv.Itoa(c.hosts), "embedding-ps.memory": fmt.Sprintf("%dTB", c.terabyte),
	}
	if c.cores > 0 {
		set["embedding-ps.cores"] = strconv.Itoa(c.cores)
	}
	return set
}

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) *paper.Plan {
	p := &paper.Plan{Samples: predict.SamplesDefault, Seeds: o.Seeds, Seed: o.Seed, Steps: steps}
	if o.Quick {
		p.Samples = quickSamples
	}
	add := func(name string, model, mode string, middleOnly bool, set map[string]string) {
		p.Cases = append(p.Cases, paper.Case{Name: name, MiddleOnly: middleOnly, Choice: paper.Choice{
			Preset: cluster, Model: model, Mode: mode, GPUs: gpus, Set: set,
		}})
	}
	flat := paper.Claim{Name: "largest-over-smallest-6t-100t",
		What: "largest ÷ smallest throughput over sizes",
		Unit: paper.Fold, Null: 1,
		Figure: paper.DigitisedRatio(1.91, 1.80, readingError)}
	flat.Figure.Low = 1 // part of the difference of two bars is noise
	for _, s := range simulated(o) {
		add(s.name(), s.model, job.Hybrid, false, nil)
		p.Claims = append(p.Claims, paper.Claim{Name: s.quantity(), What: s.name(),
			Of: s.name(), Unit: paper.Mega,
			Figure: paper.Digitised(s.rate, readingError)})
		flat.Spread = append(flat.Spread, s.name())
	}
	most := largest()
	hybrid, sync := most.name(), modeName(job.Sync)
	add(sync, most.model, job.Sync, false, nil)
	add(modeName(job.AsyncAverage), most.model, job.AsyncAverage, false, nil)
	modes := []string{job.AsyncAverage}
	if !o.Quick {
		add(modeName(job.AsyncPS), most.model, job.AsyncPS, true, nil)
		modes = append(modes, job.AsyncPS)
	}
	p.Claims = append(p.Claims, flat, paper.Claim{
		Name: "hybrid-over-sync-100t", What: "hybrid ÷ sync, 100 T", Of: hybrid, Over: sync,
		Unit: paper.Fold, Null: 1,
		Figure: paper.Printed(hybridSync, 0.1),
	})
	for _, mode := range modes {
		p.Claims = append(p.Claims, paper.Claim{
			Name: asyncName(mode), What: mode + " ÷ hybrid, 100 T", Of: modeName(mode), Over: hybrid,
			Unit: paper.Fold, Null: 1,
			Figure: paper.DigitisedRatio(asyncRate, most.rate, readingError),
		})
	}
	all := reference()
	add(all.name(most), most.model, job.Hybrid, false, all.set())
	for _, c := range few() {
		for _, s := range simulated(o) {
			middleOnly := s != sizes()[0] && s != most || o.Quick && c != few()[0]
			add(c.name(s), s.model, job.Hybrid, middleOnly, c.set())
			if c == few()[0] {
				p.Cases[len(p.Cases)-1].Steps = boundSteps
			}
		}
	}
	if o.Quick {
		return p
	}
	p.Totals = []string{hybrid}
	p.Causes = []paper.Cause{
		{What: "hybrid ÷ sync at 100 T", Of: hybrid, Over: sync, Target: hybridSync},
		{What: "async-average ÷ hybrid at 100 T", Of: modeName(job.AsyncAverage), Over: hybrid,
			Target: asyncHybrid},
		{What: "10 PS hosts ÷ 30 at 100 T", Of: few()[1].name(most), Over: all.name(most),
			Target: 1 - slowerLeast, Names: psInputs()},
	}
	return p
}

// psInputs returns the parameters that say how fast PSs are.
func psInputs() []string {
	return []string{
		"embedding-ps.cores", "embedding-ps.core-speed", "embedding-ps.memory-bandwidth",
		"embedding-ps.random-rows-per-second", "embedding-ps.memory-latency",
		"embedding-ps.remote-memory-latency", "embedding-ps.huge-page-share", "embedding-ps.network",
		"system.embedding-ps.threads", "system.embedding-ps.read.misses", "system.embedding-ps.update.misses",
	}
}
