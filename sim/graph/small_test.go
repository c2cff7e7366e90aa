package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/sim/model"
)

// unevenModel returns a model of some tables, with rows, widths and ids at random.
func unevenModel(t testing.TB, r *rand.Rand, tables int) *model.Model {
	m := even(t, 1, 1e6)
	group := m.Groups[0]
	m.Groups = nil
	for i := range tables {
		group.Name, group.Count = fmt.Sprint("t", i), 1
		group.Rows = math.Round(math.Pow(10, 2+4*r.Float64()))
		group.Dim, group.IDs = 16<<r.IntN(4), []float64{1, 1, 3, 20}[r.IntN(4)]
		m.Groups = append(m.Groups, group)
	}
	return m
}

// placements lists all rules of a table on some ranks of one server: every layout, with its parts on any
// ranks.
func placements(table string, dim, ranks int) (rules []Rule) {
	for _, layout := range []Layout{DataParallel, RowWise} {
		rules = append(rules, Rule{Table: table, Layout: layout})
	}
	for first := range ranks {
		rules = append(rules, Rule{Table: table, Layout: TableWise, Ranks: []int{first}})
		for second := range ranks {
			if dim >= 64 { // parts have at least 32 values
				rules = append(rules, Rule{Table: table, Layout: ColumnWise, Ranks: []int{first, second}})
			}
		}
	}
	return rules
}

// fastest returns the shortest step of all placements, by giving each as rules.
func fastest(t *testing.T, j Job, rules []Rule) float64 {
	t.Helper()
	if len(rules) == len(j.Model.Groups) {
		j.Placement = rules
		return float64(run(t, j).StepTime)
	}
	best := math.Inf(1)
	group := j.Model.Groups[len(rules)]
	for _, rule := range placements(group.Name, group.Dim, j.GPUs) {
		best = min(best, fastest(t, j, append(rules[:len(rules):len(rules)], rule)))
	}
	return best
}

// Few tables have the placement that trying all finds.
func TestFewTablesArePlacedAsByTryingAll(t *testing.T) {
	c, s := ideal(t)
	r := rand.New(rand.NewPCG(1, 3))
	for i := range 12 {
		tables, gpus := 2, 2+i%3
		if gpus == 2 {
			tables = 3
		}
		j := Job{Model: unevenModel(t, r, tables), Cluster: c, System: s, GPUs: gpus, Steps: 4}
		found := run(t, j)
		if best := fastest(t, j, nil); float64(found.StepTime) > best*(1+1e-9) {
			t.Errorf("%d tables on %d GPUs: %v; trying all finds %v ns", tables, gpus, found.StepTime, best)
		}
	}
}

// Of every placement of a few tables, also on several servers of which the last is not full, one that is at
// least as good is among those that are simulated, although places that are alike are tried once.
func TestEveryPlacementHasOneThatIsAsGood(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 3))
	for _, gpus := range []int{3, 6, 8} {
		for _, named := range []string{"", "t1"} {
			c, s := ideal(t) // servers of 4 GPUs
			j := Job{Model: unevenModel(t, r, 2), Cluster: c, System: s, GPUs: gpus}
			j.Model.Groups[0].Dim, j.Model.Groups[1].Dim = 64, 32
			if named != "" {
				j.Placement = []Rule{{Table: named, Layout: TableWise, Ranks: []int{gpus - 1}}}
			}
			placer := placerOf(t, &j)
			plans, all := placer.all(), everyPlacement(placer, nil)
			search := small{placer: placer}
			for _, x := range all {
				if !slices.ContainsFunc(plans, func(y *plan) bool { return search.atLeastAsGood(y, x) }) {
					t.Errorf("%d GPUs: none of %d plans is as good as %+v", gpus, len(plans), x.pieces)
				}
			}
			if len(plans) > len(all)/3 {
				t.Errorf("%d GPUs: %d plans of %d placements", gpus, len(plans), len(all))
			}
		}
	}
}

// placerOf returns the placer of a job.
func placerOf(t *testing.T, j *Job) *placer {
	t.Helper()
	if err := j.validate(); err != nil {
		t.Fatal(err)
	}
	b, _, _, err := prepare(j)
	if err != nil {
		t.Fatal(err)
	}
	return b.placer
}

// everyPlacement returns all placements of the tables behind those of some pieces.
func everyPlacement(p *placer, pieces []piece) (plans []*plan) {
	table := 0
	if n := len(pieces); n > 0 {
		table = pieces[n-1].table
		if pieces[n-1].part+1 == pieces[n-1].parts {
			table++
		}
	}
	if table == len(p.tables) {
		return []*plan{p.plan(pieces)}
	}
	part, options := 0, p.tables[table].options
	if n := len(pieces); n > 0 && pieces[n-1].table == table {
		part = pieces[n-1].part + 1
		options = []option{*pieces[n-1].option}
	}
	for i := range options {
		for rank := 0; rank+options[i].ranks <= p.net.ranks; rank += options[i].ranks {
			if named := p.tables[table].rule.Ranks; len(named) == 0 || named[part] == rank {
				x := piece{table, part, rank, &options[i]}
				plans = append(plans, everyPlacement(p, append(pieces[:len(pieces):len(pieces)], x))...)
			}
		}
	}
	return plans
}

// A server that is not full has fewer ranks for tables than others, and the rows of a table are spread over
// full ones.
func TestFewTablesOnAServerThatIsNotFull(t *testing.T) {
	for _, gpus := range []int{12, 16} {
		c, s := dgxH100(t), example(t, dgxH100(t), "mlperf-dlrm", gpus, 65536).System
		j := Job{Model: unevenModel(t, rand.New(rand.NewPCG(6, 3)), 2), Cluster: c, System: s, GPUs: gpus}
		for _, x := range run(t, j).Placement {
			if x.Rank+x.Ranks > gpus {
				t.Errorf("%d GPUs: %+v", gpus, x)
			}
		}
	}
}

// Of more placements than run to the end, the first steps tell which is the fastest.
func TestManyPlacementsAreComparedByTheirFirstSteps(t *testing.T) {
	c, s := ideal(t)
	s.NNWorker.Jitter.Mid = 0
	j := Job{Model: unevenModel(t, rand.New(rand.NewPCG(7, 3)), 5), Cluster: c, System: s, GPUs: 2}
	for i := range j.Model.Groups {
		j.Model.Groups[i].Dim = 16
	}
	if err := j.validate(); err != nil {
		t.Fatal(err)
	}
	b, _, plans, err := prepare(&j)
	if err != nil || len(plans) <= plansMost {
		t.Fatalf("%d plans, %v; want more than %d", len(plans), err, plansMost)
	}
	_, found, err := b.runFastest(plans)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plans {
		if _, trace, err := b.runPlan(p, j.Steps); err != nil || trace.took() < found.took() {
			t.Errorf("%v; another plan takes %v, %v", found.took(), trace.took(), err)
		}
	}
}

// No number of tables is placed worse than by the simplest planner: whole tables, the one with the most work
// first, each on the rank with the least.
func TestNoPlacementIsWorseThanWholeTables(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for i := range 24 {
		tables := 3 + r.IntN(60)
		c, s := ideal(t)
		if i%2 == 1 {
			c = dgxH100(t)
		}
		j := Job{Model: unevenModel(t, r, tables), Cluster: c, System: s, GPUs: 4 << r.IntN(3), Steps: 4}
		whole := j
		for _, group := range j.Model.Groups {
			whole.Placement = append(whole.Placement, Rule{Table: group.Name, Layout: TableWise})
		}
		found, greedy := run(t, j), run(t, whole)
		if found.StepTime > greedy.StepTime {
			t.Errorf("%d tables on %d GPUs: %v, whole tables %v", tables, j.GPUs, found.StepTime,
				greedy.StepTime)
		}
	}
}

// Every rank is shown with its part of the tables: together they have all rows, the fullest has what the
// report says of it, and the mean of their work is 1.
func TestRanksShareTheTables(t *testing.T) {
	c, s := ideal(t)
	m := unevenModel(t, rand.New(rand.NewPCG(4, 4)), 40)
	j := Job{Model: m, Cluster: c, System: s, GPUs: 8}
	for _, group := range m.Groups {
		j.Placement = append(j.Placement, Rule{Table: group.Name, Layout: TableWise})
	}
	r := run(t, j)
	parts, memory, most, work, all := 0, 0.0, 0.0, 0.0, 0.0
	for _, x := range r.Ranks {
		parts += x.Parts
		memory += float64(x.Memory)
		most = max(most, float64(x.Memory))
		work += x.Load / 8
	}
	for _, table := range m.Tables() {
		all += table.Rows * float64(table.RowBytes(m.Precisions.Rows, m.Optimizers.Rows))
	}
	if parts != 40 || math.Abs(memory-all) > 8 || math.Abs(work-1) > 1e-9 ||
		math.Abs(most-float64(r.Memory.Tables+r.Memory.State)) > 2 {
		t.Errorf("%d parts, %v of %v bytes, %v on the fullest of %+v, mean work %v", parts, memory, all, most,
			r.Memory, work)
	}
}
