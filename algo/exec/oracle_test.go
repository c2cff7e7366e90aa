package exec_test

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The oracle is a second implementation of the modes whose ranks do not wait for each other, written from
// their definitions in plain loops. It shares no code with the training: it takes from a run only the
// settings, the initial values, the samples and the order of events, and must arrive at the same values.
//
//	oracle_model_test.go     who reads, pushes, applies and averages what
//	oracle_network_test.go   network, schedules and optimizers
//	oracle_cluster_test.go   the training itself, in a random order of events

// tolerance is the largest deviation of an element at the end, as a fraction of the largest magnitude that
// the oracle has in its tensor at the start or the end. The rows of a slot are one tensor. The training
// computes in float32; the oracle computes in float64 and rounds what is kept from event to event to float32.
// In 2,880 random runs the median was 1.6e-7 and the maximum 6.9e-7.
const tolerance = 1e-6

// kink is how near to 0 the input of a ReLU may come: nearer, float32 and float64 may take different
// branches, and the order of events is drawn again.
const kink = 4e-6

// oracleSteps is the number of steps of a run.
const oracleSteps = 50

var everyOptimizer = flag.Bool("long", false, "compare every combination with every optimizer")

// setting is what one combination trains with, in the words of a job.
type setting struct {
	mode         string
	ranks        int
	denseServers int
	overlap      string
	slack        int // ssp
	every        int // async-average
	norm         bool
	clip         float64
	dense, rows  optimizerSetting
	own          *optimizerSetting // of the rows of the raw slot; nil: rows
}

// optimizerSetting describes a dense optimizer or that of rows; mean and root are the decays of adam.
type optimizerSetting struct {
	kind                               string
	order                              string // adagrad and rowwise-adagrad
	rate, epsilon, initial, mean, root float64
	schedule                           scheduleSetting
}

type scheduleSetting struct {
	decay         string
	warmUp, steps int
	factor        float64
}

// averaged reports whether every rank trains a replica of its own.
func (s *setting) averaged() bool { return s.mode == "async-average" }

func (s *setting) String() string {
	own := ""
	if s.own != nil {
		own = fmt.Sprintf("/raw=%s-%s", s.own.kind, s.own.order)
	}
	return fmt.Sprintf(
		"%s/ranks=%d/servers=%d/overlap=%s/schedule=%s/norm=%v/clip=%g/dense=%s-%s/rows=%s-%s%s",
		s.mode, s.ranks, s.denseServers, s.overlap, s.dense.schedule.decay, s.norm, s.clip,
		s.dense.kind, s.dense.order, s.rows.kind, s.rows.order, own)
}

// ofRows returns the optimizer of the rows of a slot.
func (s *setting) ofRows(slot int) *optimizerSetting {
	if s.own != nil && slot == 1 {
		return s.own
	}
	return &s.rows
}

// Rates are so large that values move by about their own size, and epsilons so large that a factor on the
// gradient matters to adagrad and adam.
var (
	denseOptimizers = []optimizerSetting{
		{kind: "sgd", rate: 0.2},
		{kind: "adagrad", order: "after", rate: 0.04, epsilon: 0.1},
		{kind: "adagrad", order: "before", rate: 0.04, epsilon: 0.1, initial: 0.01},
		{kind: "adam", rate: 0.01, epsilon: 0.02, mean: 0.8, root: 0.95},
	}
	rowOptimizers = []optimizerSetting{
		{kind: "sgd", rate: 1},
		{kind: "adagrad", order: "before", rate: 0.05, epsilon: 0.01, initial: 0.01},
		{kind: "rowwise-adagrad", order: "before", rate: 0.05, epsilon: 0.01, initial: 0.01},
		{kind: "adagrad", order: "after", rate: 0.05, epsilon: 0.01},
		{kind: "rowwise-adagrad", order: "after", rate: 0.05, epsilon: 0.01},
	}
	schedules = []scheduleSetting{
		{decay: "linear", warmUp: 5, steps: 60},
		{decay: "inverse-sqrt", warmUp: 4},
		{decay: "step", warmUp: 3, steps: 9, factor: 0.7},
	}
)

// combinations returns every mode × 2 or 4 ranks × dense PSs × overlap × schedule × batch norm × clipping,
// and some of 3 ranks. The kinds of optimizers and schedules take turns, so that each meets each value of the
// others.
func combinations() []setting {
	var all []setting
	add := func(s setting) {
		for variant := range 8 {
			s.slack, s.every, s.norm, s.clip = 2, 4, variant&1 != 0, 0.1*float64(variant&2/2)
			s.choose(len(all), variant&4 != 0)
			all = append(all, s)
		}
	}
	for _, mode := range []string{"async-ps", "ssp"} {
		for _, ranks := range []int{2, 4} {
			for _, servers := range []int{1, 3} {
				for _, overlap := range []string{"none", "pull"} {
					add(setting{mode: mode, ranks: ranks, denseServers: servers, overlap: overlap})
				}
			}
		}
	}
	for _, ranks := range []int{2, 4, 3} {
		add(setting{mode: "async-average", ranks: ranks, denseServers: 1, overlap: "none"})
	}
	add(setting{mode: "async-ps", ranks: 3, denseServers: 2, overlap: "pull"})
	return all
}

// choose picks the optimizers and schedules of combination i.
func (s *setting) choose(i int, scheduled bool) {
	turn := i + i/4 + i/16 + i/64
	s.dense = denseOptimizers[turn%len(denseOptimizers)]
	s.rows = rowOptimizers[i%len(rowOptimizers)]
	if scheduled {
		s.dense.schedule = schedules[i%len(schedules)]
		s.rows.schedule = schedules[(i+1)%len(schedules)]
	}
	if turn%2 == 1 {
		own := rowOptimizers[(i+2)%len(rowOptimizers)]
		own.rate /= 2
		if !scheduled {
			own.schedule = schedules[i%len(schedules)]
		}
		s.own = &own
	}
}

// After 50 steps in a random order of events, network and rows are those of the oracle: async-ps and ssp on
// one and on several dense PSs, with and without overlap, and async-average; each with schedules, batch norm
// and gradient clipping on and off, and half of them with an optimizer of its own for the rows of a slot.
func TestParametersEqualTheOracles(t *testing.T) {
	all := combinations()
	worst := 0.0
	for i, s := range all {
		if testing.Short() && i%11 != 0 {
			continue
		}
		variants := []optimizerSetting{s.dense}
		if *everyOptimizer {
			variants = denseOptimizers
		}
		for _, dense := range variants {
			dense.schedule = s.dense.schedule
			s.dense = dense
			t.Run(s.String(), func(t *testing.T) {
				deviation, where := compare(t, &s, uint64(i))
				worst = max(worst, deviation)
				if !(deviation <= tolerance) {
					t.Errorf("%s deviates by %.2g of the tensor's largest value, want at most %g",
						where, deviation, tolerance)
				}
			})
		}
	}
	t.Logf("largest deviation: %.2g", worst)
}

// compare trains a setting, replays its order of events in the oracle, and returns the largest deviation and
// the tensor that it is in.
func compare(t *testing.T, s *setting, seed uint64) (worst float64, where string) {
	t.Helper()
	for attempt := range uint64(10) {
		run := train(t, s, 1000*seed+attempt)
		o := newOracle(s, run)
		for _, e := range run.records {
			if err := o.follow(e); err != nil {
				t.Fatalf("%v: %v", e, err)
			}
		}
		if err := o.finished(); err != nil {
			t.Fatal(err)
		}
		if o.nearest >= kink {
			return run.end.deviation(o.state(), run.start)
		}
	}
	t.Fatal("every order of events comes too near to a kink of ReLU: use other rates")
	return 0, ""
}

// modelState is the model state of a training.
type modelState struct {
	// networks has the parameters that the dense PSs hold together, or the replica of every rank and then
	// their mean.
	networks [][]tensor
	rows     map[rowName][]float32
}

// tensor is named as the layout of the network names it, or is one of the running statistics.
type tensor struct {
	name   string
	shape  []int
	values []float32
}

const (
	runningMean     = "running mean"
	runningVariance = "running variance"
)

type rowName struct {
	slot int
	id   uint64
}

// deviation returns how far two states are apart, and where.
func (s *modelState) deviation(o, start *modelState) (worst float64, where string) {
	note := func(name string, got, want, start []float32) {
		if d := deviation(got, want, start); !(d <= worst) {
			worst, where = d, name
		}
	}
	for n, network := range s.networks {
		for i, tensor := range network {
			name := fmt.Sprintf("%s of network %d", tensor.name, n)
			note(name, tensor.values, o.networks[n][i].values, start.networks[n][i].values)
		}
	}
	got, want, begin := map[int][]float32{}, map[int][]float32{}, map[int][]float32{} // by slot
	for name, values := range s.rows {
		got[name.slot] = append(got[name.slot], values...)
		want[name.slot] = append(want[name.slot], o.rows[name]...)
		begin[name.slot] = append(begin[name.slot], start.rows[name]...)
	}
	for slot := range len(got) {
		note(fmt.Sprintf("rows of slot %d", slot), got[slot], want[slot], begin[slot])
	}
	return worst, where
}

// deviation returns max|got − want| / max(|want|, |start|), 0 if got equals want, and infinity if lengths
// differ or a value is NaN.
func deviation(got, want, start []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	apart, largest := 0.0, 0.0
	for i := range got {
		apart = max(apart, math.Abs(float64(got[i])-float64(want[i])))
		largest = max(largest, math.Abs(float64(want[i])), math.Abs(float64(start[i])))
	}
	switch {
	case apart == 0:
		return 0
	case math.IsNaN(apart):
		return math.Inf(1)
	}
	return apart / largest
}

// The oracle imports no code that it checks.
func TestOracleSharesNoCode(t *testing.T) {
	data := []string{"tandem/algo/numeric/batch", "tandem/algo/protocol/event"}
	for _, name := range []string{"oracle_model_test.go", "oracle_network_test.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			own := strings.HasPrefix(path, "tandem/")
			if strings.Contains(path, ".") || own && !slices.Contains(data, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
