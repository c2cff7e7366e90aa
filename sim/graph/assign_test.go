package graph

import (
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
		p.room[0] = all / float64(p.net.ranks) * []float64{1.05, 1.3, 3, 1000}[random.IntN(4)]
		a := &assignment{placer: p, outcomes: map[string]outcome{}}
		a.arrange()
		choices := make([]int, len(p.tables))
		for range 30 {
			for range 1 + random.IntN(3) {
				table := random.IntN(len(choices))
				choices[table] = random.IntN(len(p.tables[table].options))
			}
			fresh := &assignment{placer: p}
			fresh.arrange()
			full := slices.Clone(a.assign(choices))
			if want := fresh.assign(choices); !slices.Equal(full, want) {
				t.Fatalf("seed %d: tables without room %v, want %v", seed, full, want)
			}
			if len(full) == 0 &&
				(!slices.Equal(a.pieces, fresh.pieces) || !slices.Equal(a.loads, fresh.loads)) {
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
			if len(full) > 0 {
				seen["full"]++
			} else {
				seen["room"]++
			}
			if got.err != nil {
				seen["error"]++
			}
		}
	}
	for _, what := range []string{"full", "room", "error"} {
		if seen[what] < 20 {
			t.Errorf("cases seen: %v, want at least 20 of each", seen)
		}
	}
}
