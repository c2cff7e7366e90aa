package graph

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// settledOneByOne is settle without anything that is remembered: every assignment begins from nothing.
func settledOneByOne(p *placer, choices []int) tried {
	for {
		a := &assignment{placer: p}
		a.arrange()
		full := a.assign(choices)
		if len(full) == 0 {
			seconds, times := a.scores()
			return tried{choices: choices, seconds: seconds, times: times}
		}
		for _, table := range full {
			if choices[table]+1 == len(p.tables[table].options) {
				return tried{err: a.noRoom(&p.tables[table], &p.tables[table].options[choices[table]])}
			}
			choices[table]++
		}
	}
}

// partialOption returns an option of a table, nearly always one that not all ranks have a part of.
func partialOption(random *rand.Rand, p *placer, table int) int {
	options := p.tables[table].options
	for {
		at := random.IntN(len(options))
		if options[at].ranks < p.net.ranks || random.IntN(100) == 0 {
			return at
		}
		if !slices.ContainsFunc(options, func(o option) bool { return o.ranks < p.net.ranks }) {
			return at
		}
	}
}

// What the calls before have left changes no assignment: choices, pieces, loads, scores and errors are those
// of an assignment that begins from nothing, with plenty of room and with little.
func TestAssignmentsDoNotDependOnThoseBefore(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 40))
		j := example(t, dgxH100(t), "mlperf-dcnv2", 8<<random.IntN(3), 65536)
		j.Model = unevenModel(t, random, 160)
		j.Precisions = j.Model.Precisions
		for table := range 3 {
			j.Placement = append(j.Placement, Rule{Table: fmt.Sprint("t", 7*table), Layout: TableWise,
				Ranks: []int{table}})
		}
		b, _, _, err := prepare(&j)
		if err != nil {
			t.Fatal(err)
		}
		p := b.placer
		all := 0.0
		for i := range p.tables {
			all += p.tables[i].all()
		}
		p.room[0] = all / float64(p.net.ranks) * []float64{1.02, 1.1, 1.3, 1000}[seed%4]
		a := &assignment{placer: p, outcomes: map[string]outcome{}}
		a.arrange()
		choices := make([]int, len(p.tables))
		for table := range choices {
			choices[table] = partialOption(random, p, table)
		}
		for range 30 {
			for range 1 + random.IntN(3) {
				table := random.IntN(len(choices))
				choices[table] = partialOption(random, p, table)
			}
			fresh := &assignment{placer: p}
			fresh.arrange()
			full := slices.Clone(a.assign(choices))
			if want := fresh.assign(choices); !slices.Equal(full, want) {
				t.Fatalf("seed %d: tables without room %v, want %v", seed, full, want)
			}
			// Beside a base without room nothing is placed.
			placed := a.base.fits(&option{}, &rankLoad{}, &a.room)
			if a.base != fresh.base || placed && (!slices.Equal(a.pieces, fresh.pieces) ||
				!slices.Equal(a.loads, fresh.loads) || !slices.Equal(a.seconds, fresh.seconds)) {
				t.Fatalf("seed %d: other pieces or loads than without calls before", seed)
			}
			got, want := a.settle(slices.Clone(choices)), settledOneByOne(p, slices.Clone(choices))
			if fmt.Sprint(got.err) != fmt.Sprint(want.err) {
				t.Fatalf("seed %d: error %v, want %v", seed, got.err, want.err)
			}
			if got.err == nil && (!slices.Equal(got.choices, want.choices) || got.seconds != want.seconds ||
				got.times != want.times) {
				t.Fatalf("seed %d: settled at %v with %v s, want %v with %v s", seed, got.choices,
					got.seconds, want.choices, want.seconds)
			}
			switch {
			case len(full) == 0:
				seen["room"]++
			case got.err == nil:
				seen["cut further"]++
			}
			if got.err != nil {
				seen["error"]++
			}
		}
	}
	for _, what := range []string{"cut further", "room", "error"} {
		if seen[what] < 20 {
			t.Errorf("cases seen: %v, want at least 20 of each", seen)
		}
	}
}

// Tables that every rank has parts of, by rules that name a rank, exceed the room before anything else has a
// place: that is an error in words.
func TestNoRoomForTablesOnAllRanks(t *testing.T) {
	j := example(t, dgxH100(t), "mlperf-dcnv2", 8, 65536)
	j.Model = unevenModel(t, rand.New(rand.NewPCG(1, 77)), 40)
	j.Precisions = j.Model.Precisions
	j.Placement = []Rule{{Table: "t0", Layout: DataParallel, Tier: HBM},
		{Table: "t1", Layout: ServerRowWise, Ranks: []int{0}, Tier: HBM}}
	b, _, _, err := prepare(&j)
	if err != nil {
		t.Fatal(err)
	}
	p := b.placer
	p.tables[0].Rows, p.tables[1].Rows = 1e6, 1e6*p.tables[0].row/p.tables[1].row
	p.room[0] = 1.02 * p.tables[0].all()
	if _, err = p.place(); !errors.Is(err, ErrMemory) {
		t.Errorf("error %v", err)
	}
}
