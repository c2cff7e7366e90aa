package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/internal/parallel"
	"tandem/sim/cost"
	"tandem/sim/device"
	"tandem/sim/predict"
)

// dollars returns the cost of 10⁹ samples.
func dollars(perHour, throughput float64) float64 { return perHour / 3600 * 1e9 / throughput }

// option is a cluster of the exhaustive search, which shares no code with the other: it writes the section of
// every cluster itself.
type option struct {
	preset, host, mode          string
	gpus, workers, pss, loaders int
}

// result is what an option can do, and costs.
type result struct {
	throughput, perHour float64
	gpuPart             float64 // of the price
}

// exhaustive simulates every option with at most 8 GPUs and 3 hosts of a role.
func exhaustive(t *testing.T) map[option]result {
	t.Helper()
	var all []option
	for _, mode := range []string{job.Sync, job.Hybrid} {
		for workers := 1; workers <= 3; workers++ {
			for pss := 1; pss <= 3; pss++ {
				for loaders := 1; loaders <= 3; loaders++ {
					for _, o := range []option{{preset: "commodity-10g", host: "commodity-32-core", gpus: 4},
						{preset: "commodity-10g", host: "commodity-32-core", gpus: 8},
						{preset: "persia-gcp", host: "m2-ultramem-416", gpus: 8},
						{preset: "persia-gcp", host: "c2-standard-30", gpus: 8}} {
						o.mode, o.workers, o.pss, o.loaders = mode, workers, pss, loaders
						all = append(all, o)
					}
				}
			}
		}
	}
	all = append(all, option{preset: "dgx-a100", mode: job.Sync, gpus: 8})
	results, errs := make([]result, len(all)), make([]error, len(all))
	parallel.ForEach(runtime.GOMAXPROCS(0), len(all), func(i int) { results[i], errs[i] = all[i].run() })
	table := map[option]result{}
	for i, o := range all {
		if errs[i] != nil {
			t.Fatalf("%+v: %v", o, errs[i])
		}
		table[o] = results[i]
	}
	return table
}

// run simulates an option.
func (o option) run() (result, error) {
	section, err := job.LoadCluster(o.preset)
	if err != nil {
		return result{}, err
	}
	if o.host != "" {
		if section.EmbeddingPSs.Profile != o.host {
			section.EmbeddingPSs.Profile, section.EmbeddingPSs.PerHost = o.host, 1
		}
		section.EmbeddingWorkers.Count, section.EmbeddingPSs.Count, section.Loaders.Count = o.workers, o.pss,
			o.loaders
	}
	j, _, err := predict.Choice{Model: "criteo", Mode: o.mode, GPUs: o.gpus}.On(section)
	if err != nil {
		return result{}, err
	}
	p, err := predict.Run(context.Background(), j, predict.Options{Workers: 1, Seed: Seed})
	if err != nil {
		return result{}, err
	}
	r := result{throughput: p.Mid.Throughput}
	r.perHour, _, _ = j.DollarsPerHour(1)
	servers := o.gpus / section.AcceleratorsPerServer
	r.gpuPart = float64(o.gpus)*float64(j.Hardware.Accelerator.DollarsPerHour.Mid) +
		float64(servers)*float64(j.Hardware.Server.DollarsPerHour.Mid)
	return r, nil
}

// tabled is a space whose simulations are in a table, and whose prices have a factor for each preset.
type tabled struct {
	*Space
	table  map[option]result
	prices map[string]float64
}

func (x tabled) optionOf(p Place) option {
	f := &x.families[p.Family]
	n := x.Numbers(p)
	o := option{preset: f.section.Preset, mode: f.choice.Mode,
		gpus: f.servers[p.Servers] * f.section.AcceleratorsPerServer}
	if f.section.EmbeddingPSs.Count > 0 {
		o.host, o.workers, o.pss, o.loaders = f.section.EmbeddingPSs.Profile, n[Workers], n[PSs], n[Loaders]
	}
	return o
}

// Simulate implements Problem.
func (x tabled) Simulate(p Place) (Outcome, error) {
	r, ok := x.table[x.optionOf(p)]
	if !ok {
		return Outcome{}, fmt.Errorf("no option %+v", x.optionOf(p))
	}
	return Outcome{Throughput: r.throughput}, nil
}

// PerHour implements Problem.
func (x tabled) PerHour(p Place) float64 {
	return x.prices[x.families[p.Family].section.Preset] * x.Space.PerHour(p)
}

// part returns a part of a space at random, and which options it has.
func part(whole *Space, r *rand.Rand) (s *Space, allows func(option) bool) {
	s = &Space{}
	gpus, hosts := 4<<r.IntN(2), 1+r.IntN(3)
	kept := map[[3]string]bool{}
	for _, f := range whole.families {
		per := f.section.AcceleratorsPerServer
		if r.IntN(3) == 0 || per > gpus {
			continue
		}
		kept[[3]string{f.section.Preset, f.section.EmbeddingPSs.Profile, f.choice.Mode}] = true
		f.servers = f.servers[:gpus/per]
		for i := range f.hosts {
			f.hosts[i] = f.hosts[i][:min(hosts, len(f.hosts[i]))]
		}
		s.families = append(s.families, f)
	}
	return s, func(o option) bool {
		return kept[[3]string{o.preset, o.host, o.mode}] && o.gpus <= gpus &&
			max(o.workers, o.pss, o.loaders) <= hosts
	}
}

// The search finds the cheapest cluster that an exhaustive search finds, in 200 spaces of real simulations
// with needs and prices at random, and simulates a part of them.
func TestCheapestIsThatOfAnExhaustiveSearch(t *testing.T) {
	whole, _, err := NewSpace(Ask{Choice: predict.Choice{Model: "criteo"}, GPUsMost: 8, HostsMost: 3,
		Share: 1,
		Modes: []string{job.Sync, job.Hybrid}, Presets: []string{"commodity-10g", "persia-gcp", "dgx-a100"}})
	if err != nil {
		t.Fatal(err)
	}
	table := exhaustive(t)
	r := rand.New(rand.NewPCG(1, 40))
	simulated, possible, none := 0, 0, 0
	for i := range 200 {
		s, allows := part(whole, r)
		x := tabled{s, table, map[string]float64{}}
		for _, name := range []string{"commodity-10g", "persia-gcp", "dgx-a100"} {
			x.prices[name] = math.Exp(2 * r.NormFloat64())
		}
		need := math.Exp(10 + 4*r.Float64()) // 22 k to 1.2 M samples/s
		cost := []Cost{dollars, func(perHour, _ float64) float64 { return perHour }}[r.IntN(2)]
		best, fastest := math.Inf(1), 0.0
		for o, y := range table { // order-free: the least of all
			if !allows(o) {
				continue
			}
			possible++
			fastest = max(fastest, y.throughput)
			if y.throughput >= need {
				best = min(best, cost(y.perHour*x.prices[o.preset], y.throughput))
			}
		}
		search := &Search{Problem: x}
		found, err := search.Cheapest(need, cost)
		switch {
		case err != nil:
			t.Fatal(err)
		case found == nil:
			none++
			if !math.IsInf(best, 1) {
				t.Errorf("%d: nothing has %.0f samples/s, one has for $ %v", i, need, best)
			}
		case math.Abs(found.Cost/best-1) > 1e-9:
			t.Errorf("%d: %.0f samples/s: $ %v by %s, $ %v by trying all", i, need, found.Cost,
				s.Describe(found.Place), best)
		}
		simulated += search.Simulations()
		if f, err := search.Fastest(); err != nil || f != nil && f.Throughput*hostSlack < fastest {
			t.Errorf("%d: the fastest has %v samples/s; want %v", i, f, fastest)
		}
	}
	if simulated > possible/3 || none < 10 || none > 100 {
		t.Errorf("%d of %d places were simulated; %d spaces had none", simulated, possible, none)
	}
}

// unpriced returns the file of a cluster whose GPUs have no price.
func unpriced(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	gpu, err := device.Accelerators.Text("T4")
	if err != nil {
		t.Fatal(err)
	}
	before, after, priced := strings.Cut(string(gpu), "dollars-per-hour:")
	_, rest, _ := strings.Cut(after, "\ninside:")
	cluster, err := cost.Clusters.Text("commodity-10g")
	if err != nil || !priced {
		t.Fatal(err, priced)
	}
	file := filepath.Join(folder, "gpu.yaml")
	for name, text := range map[string]string{"gpu.yaml": before + "inside:" + rest,
		"cluster.yaml": strings.Replace(string(cluster), "accelerator: T4", "accelerator: "+file, 1)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "cluster.yaml")
}

// A space simulates and prices the cluster that it says, and leaves out what has no price.
func TestASpaceSimulatesItsPlaces(t *testing.T) {
	s, notes, err := NewSpace(Ask{Choice: predict.Choice{Model: "criteo"}, GPUsMost: 8, HostsMost: 3,
		Share: 0.4,
		Modes: []string{"async-ps", "hybrid"}, Presets: []string{"persia-gcp", "dgx-h100", unpriced(t)}})
	if err != nil || len(s.families) != 4 || len(notes) != 3 {
		t.Fatalf("%d families, %q, %v", len(s.families), notes, err)
	}
	x := tabled{Space: s}
	for family := range s.Families() {
		p := Place{Family: family, Hosts: [roles]int{1, 2, 0}}
		o := x.optionOf(p)
		want, err := o.run()
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Simulate(p)
		if err != nil || got.Throughput != want.throughput ||
			math.Abs(s.PerHour(p)-(want.perHour-0.6*want.gpuPart)) > 1e-9 {
			t.Errorf("%+v: %v samples/s at $ %v, %v; want %+v", o, got.Throughput, s.PerHour(p), err, want)
		}
	}
	if list := fmt.Sprint(numbers(20)); list != "[1 2 3 4 6 8 12 16]" {
		t.Errorf("%s", list)
	}
}

// random is a problem at random, whose throughput saturates in every number and is a little uneven.
type random struct {
	servers []int
	hosts   [roles]int
	rates   [][roles + 1]float64 // of a server, and of a host of each role, by family
	prices  [][roles + 1]float64
	least   []int // PSs that hold the rows
	noise   map[Place]float64
}

func newRandom(r *rand.Rand) *random {
	x := &random{servers: []int{1, 2, 3, 4, 6, 8}[:1+r.IntN(6)], noise: map[Place]float64{}}
	for i := range x.hosts {
		x.hosts[i] = 1 + r.IntN(6)
	}
	for range 1 + r.IntN(4) {
		var rates, prices [roles + 1]float64
		for i := range rates {
			rates[i], prices[i] = math.Exp(2*r.NormFloat64()), math.Exp(r.NormFloat64())
		}
		x.rates, x.prices = append(x.rates, rates), append(x.prices, prices)
		x.least = append(x.least, r.IntN(4))
	}
	for _, p := range x.all() {
		x.noise[p] = 1 - 0.009*r.Float64()
	}
	return x
}

func (x *random) all() (places []Place) {
	for family := range x.rates {
		for servers := range x.servers {
			for a := range x.hosts[0] {
				for b := range x.hosts[1] {
					for c := range x.hosts[2] {
						places = append(places, Place{family, servers, [roles]int{a, b, c}})
					}
				}
			}
		}
	}
	return places
}

func (x *random) Families() int        { return len(x.rates) }
func (x *random) Servers(int) []int    { return x.servers }
func (x *random) Hosts(int) [roles]int { return x.hosts }
func (x *random) PerHour(p Place) float64 {
	price := x.prices[p.Family][roles] * float64(x.servers[p.Servers])
	for i, level := range p.Hosts {
		price += x.prices[p.Family][i] * float64(level+1)
	}
	return price
}

func (x *random) Simulate(p Place) (Outcome, error) {
	if p.Hosts[PSs] < x.least[p.Family] {
		return Outcome{Refusal: errors.New("too few PSs")}, nil
	}
	rate := 1 / (x.rates[p.Family][roles] * float64(x.servers[p.Servers]))
	for i, level := range p.Hosts {
		rate += 1 / (x.rates[p.Family][i] * float64(level+1))
	}
	return Outcome{Throughput: x.noise[p] / rate}, nil
}

// Of problems at random, with memory that some numbers do not have, the search finds the best, the same on
// any number of cores.
func TestCheapestOfRandomProblems(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 40))
	simulated, possible := 0, 0
	for range 500 {
		x := newRandom(r)
		fastest := 0.0
		for _, p := range x.all() {
			o, _ := x.Simulate(p)
			fastest = max(fastest, o.Throughput)
			possible++
		}
		need := fastest * (1.1*r.Float64() - 0.05)
		best := math.Inf(1)
		for _, p := range x.all() {
			if o, _ := x.Simulate(p); o.Throughput > 0 && o.Throughput >= need {
				best = min(best, dollars(x.PerHour(p), o.Throughput))
			}
		}
		one, two := &Search{Problem: x, AtOnce: 1}, &Search{Problem: x, AtOnce: 4}
		a, errA := one.Cheapest(need, dollars)
		b, errB := two.Cheapest(need, dollars)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		if (a == nil) != math.IsInf(best, 1) || a != nil && (a.Cost != best || *a != *b) ||
			one.Simulations() != two.Simulations() {
			t.Errorf("%+v and %+v; want a cost of %v", a, b, best)
		}
		simulated += one.Simulations()
	}
	if simulated > possible/2 {
		t.Errorf("%d of %d places were simulated", simulated, possible)
	}
}

// The clusters of a front are up to four, each the cheapest with its throughput and faster by a tenth or more
// than the one before. The last one has 99 % of the highest throughput, unless the fourth has less.
func TestFrontsOfRandomProblems(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 40))
	lengths := map[int]int{}
	for range 100 {
		x := newRandom(r)
		fastest := 0.0
		for _, p := range x.all() {
			o, _ := x.Simulate(p)
			fastest = max(fastest, o.Throughput)
		}
		need := fastest * 1.1 * r.Float64()
		front, top, err := (&Search{Problem: x}).Front(need, dollars)
		if err != nil {
			t.Fatal(err)
		}
		if fastest == 0 {
			if front != nil || top != nil {
				t.Errorf("%v and %v of a problem that nothing solves", front, top)
			}
			continue
		}
		lengths[len(front)]++
		if (len(front) == 0) != (need > top.Throughput) || len(front) > 4 {
			t.Errorf("%d clusters have %v samples/s, and the fastest %v", len(front), need, top.Throughput)
		}
		for i, f := range front {
			for _, p := range x.all() {
				o, _ := x.Simulate(p)
				if c := dollars(x.PerHour(p), o.Throughput); o.Throughput >= f.Throughput && c < f.Cost {
					t.Errorf("cluster %d costs %v, and one as fast %v", i, f.Cost, c)
				}
			}
			if i > 0 && f.Throughput < min(1.1*front[i-1].Throughput, AsFast*top.Throughput) {
				t.Errorf("cluster %d has %v samples/s after %v", i, f.Throughput, front[i-1].Throughput)
			}
		}
		if n := len(front); n > 0 && n < 4 && front[n-1].Throughput < AsFast*top.Throughput {
			t.Errorf("the last of %d has %v of %v samples/s", n, front[n-1].Throughput, top.Throughput)
		}
	}
	if lengths[0] == 0 || lengths[1] == 0 || lengths[4] == 0 {
		t.Errorf("numbers of clusters: %v", lengths)
	}
}

// The largest cluster that the job does not fit is the one of the highest price of those simulated.
func TestLargestRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 40))
	refused := 0
	for range 100 {
		x := newRandom(r)
		s := &Search{Problem: x}
		if _, err := s.Fastest(); err != nil {
			t.Fatal(err)
		}
		most := 0.0
		for _, p := range x.all() {
			if s.Known(p).Refusal != nil {
				most = max(most, x.PerHour(p))
			}
		}
		if got := s.Refused(); most > 0 && x.PerHour(got) != most || s.Known(got).Refusal == nil && most > 0 {
			t.Errorf("%v has the price %v, want %v", got, x.PerHour(got), most)
		}
		if most > 0 {
			refused++
		}
	}
	if refused < 10 {
		t.Errorf("%d problems have clusters that are refused", refused)
	}
}

// counting counts the simulations of each place.
type counting struct {
	*random
	times map[Place]int
}

func (c *counting) Simulate(p Place) (Outcome, error) {
	c.times[p]++
	return c.random.Simulate(p)
}

// A search simulates no place twice, also in a second search with another need, and says after each batch how
// many it has simulated.
func TestNoPlaceIsSimulatedTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 40))
	for range 50 {
		x := &counting{newRandom(r), map[Place]int{}}
		said := 0
		s := &Search{Problem: x, AtOnce: 1, After: func(n int) {
			if n < said || n != len(x.times) {
				t.Errorf("%d places after %d, and %d were simulated", n, said, len(x.times))
			}
			said = n
		}}
		for _, need := range []float64{0, 0.1, 1} {
			if _, err := s.Cheapest(need, dollars); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Fastest(); err != nil {
			t.Fatal(err)
		}
		for p, n := range x.times {
			if n != 1 {
				t.Errorf("%+v is simulated %d times", p, n)
			}
		}
		if said != len(x.times) || s.Simulations() != said || said == 0 {
			t.Errorf("%d of %d places are named, %d counted", said, len(x.times), s.Simulations())
		}
	}
}
