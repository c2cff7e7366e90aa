package peers

import (
	"math/rand/v2"

	"tandem/experiments/internal/report"
)

// plan is everything that is fixed before the first measurement.
type plan struct {
	Seed     uint64      `yaml:"seed"`
	Networks int         `yaml:"networks"` // random, of the accuracy test
	Rounds   int         `yaml:"rounds"`   // of the speed test
	Cases    []speedCase `yaml:"cases"`
	Options  []string    `yaml:"simgrid-options"`
	Ways     []way       `yaml:"simgrid-ways"`
}

// way is a way of SimGrid to update rates and finishes.
type way struct {
	Name    string   `yaml:"name"`
	Options []string `yaml:"options"`
}

// Goals, set before the first run.
const (
	errorMost = 1e-3 // relative error of the time of a flow
	ratioGoal = 3    // Tandem's events per second ÷ SimGrid's
)

// flowCount is the number of flows of a speed case.
const flowCount = 3000

// speedCase is a network of flowCount flows.
type speedCase struct {
	Name  string  `yaml:"name"`
	Links int     `yaml:"links"`
	Span  float64 `yaml:"span"` // of the starts, in seconds; flows take about a second without others
	route func(r *rand.Rand, i int) []int
}

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) (*plan, error) {
	const full, selective = "--cfg=network/optim:Full", "--cfg=network/maxmin-selective-update:"
	p := &plan{
		Seed: o.Seed, Networks: 200, Rounds: o.Seeds, Cases: cases(),
		// Max-min fair rates without corrections: SimGrid 3.32, "Configuring SimGrid", network models.
		Options: []string{
			"--log=root.thres:critical", "--cfg=network/model:CM02", "--cfg=network/bandwidth-factor:1",
			"--cfg=network/latency-factor:1", "--cfg=network/TCP-gamma:0", "--cfg=network/crosstraffic:0",
			"--cfg=network/weight-S:0",
		},
		// All combinations of options that SimGrid allows. The first is its default.
		Ways: []way{
			{Name: "lazy"},
			{Name: "full, selective", Options: []string{full, selective + "yes"}},
			{Name: "full", Options: []string{full, selective + "no"}},
		},
	}
	if o.Quick {
		p.Networks, p.Cases = 40, p.Cases[:4]
	}
	return p, nil
}

// cases returns the networks of the speed test. The quick version has the first four.
func cases() []speedCase {
	random := func(links, hops int) func(r *rand.Rand, i int) []int {
		return func(r *rand.Rand, _ int) []int { return randomRoute(r, links, hops) }
	}
	pair := func(_ *rand.Rand, i int) []int { return []int{i % 100, 100 + i/100} }
	return []speedCase{
		{Name: "3 random of 1,000 links", Links: 1000, route: random(1000, 3)},
		{Name: "100 hosts, 30 servers", Links: 130, route: pair},
		{Name: "islands of 8 links", Links: 800, route: func(r *rand.Rand, i int) []int {
			first := i % 100 * 8
			from, further := r.IntN(8), 1+r.IntN(7)
			return []int{first + from, first + (from+further)%8}
		}},
		{Name: "one backbone", Links: 601, route: func(r *rand.Rand, _ int) []int {
			return []int{r.IntN(300), 600, 300 + r.IntN(300)}
		}},
		{Name: "3 random of 100 links", Links: 100, route: random(100, 3)},
		{Name: "3 random of 1,000 links, spread", Links: 1000, Span: 1, route: random(1000, 3)},
		{Name: "8 random of 1,000 links", Links: 1000, route: random(1000, 8)},
		{Name: "100 hosts, 30 servers, spread", Links: 130, Span: 3, route: pair},
		{Name: "one link per flow", Links: flowCount, route: func(_ *rand.Rand, i int) []int {
			return []int{i}
		}},
	}
}
