package graph

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/model"
)

// Rows from lower tiers take the longest of their ways: over the host link of each accelerator, through the
// memory of the server, which is read and written for all of its accelerators, and from its SSDs, by bytes or
// by reads, where rows that make room are written.
func TestFetchingTakesTheLongestWay(t *testing.T) {
	for _, c := range []struct {
		link, memory, drives, perSec float64
		want                         float64
		from                         string
	}{
		{10, 1e9, 1e9, 1e9, 10, HostLink},
		{1e9, 50, 1e9, 1e9, 2 * 100 * 4 / 50., HostMemory},
		{1e9, 1e9, 5, 1e9, 2 * 4 * 30 / 5., Drives},
		{1e9, 1e9, 1e9, 2, 2 * 4 * 7 / 2., Drives},
	} {
		p := &placer{net: &network{ranks: 8, perServer: 4}, cluster: &Cluster{}}
		p.cluster.HostLink = device.Wire{Bandwidth: unit.BytesPerSec(c.link)}
		p.cluster.Server = &device.Host{Bandwidth: unit.BytesPerSec(c.memory),
			SSDBandwidth:   unit.BytesPerSec(c.drives),
			SSDReadsPerSec: c.perSec}
		got, from := p.fetchSeconds(&load{fetched: 100, read: 30, reads: 7})
		if math.Abs(got-c.want) > 1e-9 || from != c.from {
			t.Errorf("%+v: %v s from %s", c, got, from)
		}
		if got, from := p.fetchSeconds(&load{}); got != 0 || from != "" {
			t.Errorf("nothing takes %v s from %s", got, from)
		}
		if _, from := p.fetchSeconds(&load{fetched: 100}); from == Drives {
			t.Error("rows of the host's memory are read from SSDs")
		}
	}
}

// Places are counted as they can be listed: parts that are alike, in order, on ranks or runs of ranks.
func TestPlacesAreCounted(t *testing.T) {
	var list func(parts, from, places int) float64
	list = func(parts, from, places int) float64 {
		if parts == 0 {
			return 1
		}
		sum := 0.0
		for at := from; at < places; at++ {
			sum += list(parts-1, at, places)
		}
		return sum
	}
	for _, c := range []struct{ ranks, of, parts int }{{8, 1, 1}, {8, 1, 3}, {8, 4, 2}, {8, 8, 1}, {6, 2,
		2}} {
		want := list(c.parts, 0, c.ranks/c.of)
		free := &placed{}
		if got := free.ways(&option{ranks: c.of, parts: c.parts}, c.ranks); math.Abs(got-want) > 1e-9 {
			t.Errorf("%+v: %v places, want %v", c, got, want)
		}
		named := &placed{rule: Rule{Ranks: []int{0}}}
		if got := named.ways(&option{ranks: c.of, parts: c.parts}, c.ranks); got != 1 {
			t.Errorf("%+v: %v places where ranks are named", c, got)
		}
	}
}

// The rank with the most tables counts those of which it has a part, over the end of the ranks, too.
func TestTablesOfTheRankWithTheMost(t *testing.T) {
	of := func(rank, ranks int) piece { return piece{rank: rank, option: &option{ranks: ranks}} }
	for want, pieces := range map[float64][]piece{
		0: nil, 1: {of(0, 1), of(1, 1)}, 2: {of(0, 4), of(2, 1)}, 3: {of(3, 2), of(0, 1), of(0, 4)},
		4: {of(1, 9), of(0, 4), of(1, 1), of(1, 1)},
	} {
		if got := (&plan{pieces: pieces}).tables(4); got != want {
			t.Errorf("%v tables, want %v", got, want)
		}
	}
}

// Prices of candidates are those of their comment: the exchange of all pooled rows takes ½, 2, 8 or 16 times
// the kernels on tables, whose mean over the ranks is 1; the network of a rank is as fast as wires inside
// servers or up to 16 times slower, where there is one.
func TestPricesOfCandidates(t *testing.T) {
	for _, ranks := range []int{1, 4, 16} {
		const per = 4
		table := &model.Table{Dim: 8, IDs: 3}
		whole := option{layout: TableWise, parts: 2, ranks: 1, load: load{lookup: 10, sort: 20, update: 30,
			dense: 40, fetched: 2, read: 3}}
		replica := option{layout: DataParallel, parts: 1, ranks: ranks, load: load{dense: 7}}
		p := &placer{net: &network{ranks: ranks, perServer: min(per, ranks)}, local: 100,
			tables: []placed{{Table: table, options: []option{replica, whole}},
				{Table: table, options: []option{whole}}, {Table: table, options: []option{replica}}}}
		p.precisions = &model.Precisions{Wire: model.Float16}
		const of = 2 * (100 + 64*2 + 1024*3) // the two parts of a table
		work := 2*of + float64(ranks)*7
		pooled := 3 * 8 * 2. // bytes of a sample
		var exchanges, insides, once []float64
		add := func(list *[]float64, x float64) {
			if x = math.Round(x*1e9) / 1e9; !slices.Contains(*list, x) {
				*list = append(*list, x)
			}
		}
		for _, x := range p.candidatePrices() {
			all := load{lookup: work}
			if got := x.times(&all)[onTables] / float64(ranks); math.Abs(got-1) > 1e-9 {
				t.Errorf("%d ranks: kernels take %v in the mean", ranks, got)
			}
			add(&exchanges, x.times(&load{exchange: 100 * pooled})[ofRows])
			add(&once, x.once)
			if ranks == 1 {
				continue
			}
			// Inside, 2·inside·3/4 a byte; of rows, 2·(s−1)/s across and 1/s of what is inside.
			s := max(1, float64(ranks)/per)
			ratio := x.perByte[ofRows] / x.perByte[inServers] // = (across + within/s) / within
			within := (s - 1) / s / (ratio - 1/s)
			if s == 1 {
				within = 0.75 / 16
			}
			add(&insides, within/0.75)
			want := x.perByte[inServers] * (1 + (s-1)/s/4/within)
			for _, kind := range []int{amongRanks, ofReplicas} {
				if math.Abs(x.perByte[kind]-want) > 1e-9*want {
					t.Errorf("%d ranks: collective %d takes %v, want %v", ranks, kind, x.perByte[kind], want)
				}
			}
		}
		wantInsides := map[int]string{1: "[]", 4: "[0.0625]", 16: "[0.0625 0.5]"}[ranks]
		if fmt.Sprint(exchanges) != "[0.5 2 8 16]" || fmt.Sprint(insides) != wantInsides ||
			fmt.Sprint(once) != "[0.001 0.1]" {
			t.Errorf("%d ranks: exchanges %v, inside %v, once %v", ranks, exchanges, insides, once)
		}
	}
}

// Jobs take what is at the ends of their ranges and nothing beyond, and what they leave out from the model.
func TestRangesAndDefaultsOfJobs(t *testing.T) {
	c, s := ideal(t)
	job := func(change func(*Job)) *Job {
		j := &Job{Model: even(t, 1, 1e5), Cluster: c, System: s, GPUs: 4, GlobalBatch: 4}
		change(j)
		return j
	}
	for _, x := range []struct {
		change func(*Job)
		fits   bool
	}{
		{func(*Job) {}, true},
		{func(j *Job) { j.GPUs = 0 }, false}, {func(j *Job) { j.GPUs, j.GlobalBatch = 1, 1 }, true},
		{func(j *Job) { j.GlobalBatch = 3 }, false}, {func(j *Job) { j.GlobalBatch = -1 }, false},
		{func(j *Job) { j.Slow = 1 }, true}, {func(j *Job) { j.Slow = 0.99 }, false},
		{func(j *Job) { j.Slow = -1 }, false}, {func(j *Job) { j.Slow = math.NaN() }, false},
		{func(j *Job) { j.Steps = 1 }, true}, {func(j *Job) { j.Steps = -1 }, false},
		{func(j *Job) { j.Steps = stepsMax }, true}, {func(j *Job) { j.Steps = stepsMax + 1 }, false},
		{func(j *Job) { j.Model = nil }, false}, {func(j *Job) { j.Cluster = nil }, false},
		{func(j *Job) { j.System = nil }, false},
	} {
		j := job(x.change)
		if err := j.validate(); (err == nil) != x.fits {
			t.Errorf("%d GPUs, batch %d, slow %v, %d steps: error %v", j.GPUs, j.GlobalBatch, j.Slow,
				j.Steps, err)
		}
	}
	j := job(func(j *Job) { j.GlobalBatch = 0 })
	j.Model.Precisions = model.Precisions{Compute: model.Half, Rows: model.BFloat16,
		Activations: model.Float16,
		Wire:        model.Float32, Gradients: model.Float16}
	j.Precisions.Wire = model.BFloat16
	if err := j.validate(); err != nil {
		t.Fatal(err)
	}
	want := j.Model.Precisions
	want.Wire = model.BFloat16
	if j.Precisions != want || j.GlobalBatch != j.Model.GlobalBatch(4) || j.Steps != stepsDefault {
		t.Errorf("%+v, batch %d, %d steps; want %+v", j.Precisions, j.GlobalBatch, j.Steps, want)
	}
}

// Parts of a network that are no products are a kernel in each direction, which reads and writes their values
// of each sample in half precision: backward twice as many, since it has values and gradients.
func TestOtherPartsOfANetworkAreKernels(t *testing.T) {
	c, s := ideal(t)
	m := even(t, 8, 1e6)
	m.Layers = m.Network()
	before := run(t, Job{Model: m, Cluster: c, System: s, GPUs: 4})
	with := *m.Layers
	with.Others = []model.Other{{Name: "gate", Values: 28_000}, {Name: "sum", Values: 3}}
	m.Layers = &with
	r := run(t, Job{Model: m, Cluster: c, System: s, GPUs: 4})
	for name, values := range map[string]float64{"gate": 28_000, "sum": 3, "gate back": 56_000,
		"sum back": 6} {
		if got, want := timeOf(r.Step, name), c.Accelerator.Time(stream(1, 2*1024*values)); got != want {
			t.Errorf("%s takes %v, want %v", name, got, want)
		}
	}
	for part, forward := range map[string]bool{PartDenseForward: true, PartDenseBackward: false} {
		names := []string{"gate back", "sum back"}
		if forward {
			names = []string{"gate", "sum"}
		}
		want := partOf(t, before, part) + timeOf(r.Step, names[0]) + timeOf(r.Step, names[1])
		if got := partOf(t, r, part); got != want {
			t.Errorf("%s takes %v, want %v", part, got, want)
		}
	}
}

// Where tables do not fit, the remedies are those that help: fp16 for rows of fp32, and an optimizer with
// less state for one that has some.
func TestRemediesHelp(t *testing.T) {
	for _, c := range []struct {
		rows        model.Format
		optimizer   model.Optimizer
		half, state bool
	}{
		{model.Float32, model.SGD, true, false}, {model.Float32, model.Adam, true, true},
		{model.Float16, model.SGD, false, false}, {model.BFloat16, model.Adam, false, true},
	} {
		p := &placer{net: &network{ranks: 2}, tables: []placed{{Table: &model.Table{Rows: 10, Dim: 4}}}}
		p.precisions, p.optimizer = &model.Precisions{Rows: c.rows}, c.optimizer
		err := p.tooMuch(1, &[tiers]float64{}, &[tiers]float64{})
		if !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "use more GPUs") ||
			strings.Contains(err.Error(), "or rows of fp16") != c.half ||
			strings.Contains(err.Error(), "less state") != c.state {
			t.Errorf("rows of %s, %s: %v", c.rows, c.optimizer, err)
		}
	}
}
