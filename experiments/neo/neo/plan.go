package neo

import (
	"fmt"
	"maps"

	"tandem/algo/job"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
)

// quickSamples is the number of points of the box of inputs in the quick version. The full one has as many as
// are needed to name the inputs that explain most.
const quickSamples = 16

// steps is the number of measured steps of a run: more than twice the batches that a rank has outstanding, so
// that waves of them do not matter.
const steps = 24

// model is Neo's model of 12 T parameters, and gpus the accelerators of its cluster.
const (
	model = "neo-12t"
	gpus  = 128
)

// What is published: the lead in time to solution, "up to", in the abstract; and the throughput of the model
// of 12 T parameters, "about", from a secondary source.
const (
	publishedLead     = 40
	publishedMillions = 1.7
)

// trainers are the numbers of trainers of the system of CPUs, which is not published. The middle one is the
// middle of the unknown.
func trainers() []int { return []int{8, 24, 64} }

// middleTrainers is the middle of the unknown number of trainers.
func middleTrainers() int { return trainers()[1] }

// The names of the cases from CPUs to Neo.
const (
	onAccelerators       = "A100s with PSs, async-ps"
	syncWithPSs          = "A100s with PSs, sync"
	tablesOnAccelerators = "tables on accelerators, 100 Gbit/s"
	onZionEX             = "Neo on ZionEX"
)

func cpuName(trainers int) string { return fmt.Sprintf("%d CPU trainers with PSs, async-ps", trainers) }

// slowNetwork gives each GPU server one card of 100 Gbit/s, as the preset zionex-ps has.
func slowNetwork() map[string]string {
	return map[string]string{"server.network": "100Gbps", "server.network-cards": "1"}
}

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) *paper.Plan {
	p := &paper.Plan{Samples: paper.EffectSamples, Seeds: o.Seeds, Seed: o.Seed, Steps: steps}
	if o.Quick {
		p.Samples = quickSamples
	}
	add := func(name, preset, mode string, ranks int, set map[string]string) {
		p.Cases = append(p.Cases, paper.Case{Name: name, Choice: paper.Choice{
			Preset: preset, Model: model, Mode: mode, GPUs: ranks, Set: maps.Clone(set),
		}})
	}
	for _, n := range trainers() {
		add(cpuName(n), "cpu-ps", job.AsyncPS, n, nil)
	}
	add(onAccelerators, "zionex-ps", job.AsyncPS, gpus, nil)
	add(syncWithPSs, "zionex-ps", job.Sync, gpus, nil)
	add(tablesOnAccelerators, "zionex-128", job.Sync, gpus, slowNetwork())
	add(onZionEX, "zionex-128", job.Sync, gpus, nil)
	p.Claims = append(p.Claims, paper.Claim{
		Name: "throughput-neo-12t-128", What: onZionEX + ", 12 T parameters, 128 A100s", Of: onZionEX,
		Unit: paper.Mega, Figure: paper.Printed(publishedMillions, 0.1),
	})
	for _, n := range trainers() {
		p.Claims = append(p.Claims, paper.Claim{
			Name: fmt.Sprintf("neo-over-cpu-ps-%d", n),
			What: fmt.Sprintf("%s ÷ %d CPU trainers", onZionEX, n), Of: onZionEX, Over: cpuName(n),
			Unit: paper.Fold, Null: gpus / float64(n), Figure: paper.Printed(publishedLead, 1),
		})
	}
	return p
}
