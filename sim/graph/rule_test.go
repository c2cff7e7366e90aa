package graph

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A placement that was found, with its ranks, is found again when it is given as rules.
func TestRulesRepeatAPlacement(t *testing.T) {
	j := example(t, dgxH100(t), "mlperf-dcnv2", 64, 55_296) // some tables in a grid
	found := run(t, j)
	j.Placement = found.Rules()
	again := run(t, j)
	sorted := func(shards []Shard) []Shard {
		shards = slices.Clone(shards)
		slices.SortFunc(shards, func(a, b Shard) int {
			if c := strings.Compare(a.Table, b.Table); c != 0 {
				return c
			}
			return a.Part - b.Part
		})
		return shards
	}
	if !slices.Equal(sorted(found.Placement), sorted(again.Placement)) {
		t.Errorf("found %+v, again %+v", found.Placement, again.Placement)
	}
	if found.Throughput != again.Throughput {
		t.Errorf("%v and then %v samples/s", found.Throughput, again.Throughput)
	}
}

// Tables are on the ranks that a file names, also on ranks that no other table would need. The others are
// placed by cost.
func TestRanksAreThoseOfTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "placement.yaml")
	text := `tables:
  - {table: t1, layout: table-wise, ranks: [13]}
  - {table: t2, layout: column-wise, ranks: [7, 2], tier: hbm}
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	rules, err := LoadRules(file)
	if err != nil {
		t.Fatal(err)
	}
	c, s := ideal(t)
	r := run(t, Job{Model: even(t, 3, 1e5), Cluster: c, System: s, GPUs: 16, Placement: rules})
	got := map[string][]int{}
	for _, shard := range r.Placement {
		got[shard.Table] = append(got[shard.Table], shard.Rank)
	}
	if !slices.Equal(got["t1"], []int{13}) || !slices.Equal(got["t2"], []int{7, 2}) || len(got["t3"]) == 0 {
		t.Errorf("ranks %v", got)
	}
}

// Two tables that fill most of an accelerator each do not fit on the same one.
func TestRankWithoutRoomIsNamed(t *testing.T) {
	c, s := ideal(t)
	room := float64(c.Accelerator.Memory) * (1 - reserveShare)
	m := even(t, 2, 1)
	m.Groups[0].Rows = 0.6 * room / float64(m.Tables()[0].RowBytes(m.Precisions.Rows, m.Optimizers.Rows))
	j := Job{Model: m, Cluster: c, System: s, GPUs: 4, Placement: []Rule{
		{Table: "t1", Layout: TableWise, Ranks: []int{2}}, {Table: "t2", Layout: TableWise, Ranks: []int{2}},
	}}
	_, err := Run(t.Context(), j)
	if !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "of accelerator 2, which has ") {
		t.Errorf("error %v", err)
	}
	j.Placement[1].Ranks = []int{3}
	run(t, j)
}

func TestFaultsOfRulesAreNamed(t *testing.T) {
	for _, tt := range []struct {
		rule Rule
		want string
	}{
		{Rule{Table: "C33"}, `such as "C3"`},
		{Rule{Table: "C1", Layout: "table"}, "want one of table-wise, column-wise, "},
		{Rule{Table: "C1", Layout: "rowwise"}, `the nearest is "row-wise"`},
		{Rule{Table: "C1", Layout: TableWise, Ranks: []int{8}}, "rank 8; want 0 to 7 on 8 GPUs"},
		{Rule{Table: "C1", Layout: TableWise, Ranks: []int{-1}}, "rank -1; want 0 to 7 on 8 GPUs"},
		{Rule{Table: "C1", Layout: TableWise, Ranks: []int{1, 2}}, "want the one rank of a table-wise table"},
		{Rule{Table: "C1", Layout: RowWise, Ranks: []int{1}}, `with layout "row-wise"; want none`},
		{Rule{Table: "C1", Ranks: []int{1}}, `with layout ""; want none`},
		{Rule{Table: "C1", Layout: ServerRowWise, Ranks: []int{1}}, "rank 1; want 0 to 0 on 8 GPUs"},
		{Rule{Table: "C1", Layout: ColumnWise, Parts: 4, Ranks: []int{1, 2}}, "2 ranks for 4 parts"},
	} {
		j := example(t, dgxH100(t), "mlperf-dcnv2", 8, 65536)
		j.Placement = []Rule{tt.rule}
		_, err := Run(t.Context(), j)
		if !errors.Is(err, ErrPlacement) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want %q", tt.rule, err, tt.want)
		}
	}
	inside := Rule{Layout: Grid, Ranks: []int{8, 3}}
	if err := inside.check(64, &network{ranks: 16, perServer: 8}); err == nil ||
		!strings.Contains(err.Error(), "rank 3; want the first of a server's 8 ranks") {
		t.Errorf("a rank inside a server: %v", err)
	}
	for text, want := range map[string]string{
		"tables: [{tabel: C1}]":               `did you mean "table"?`,
		"table: [{table: C1}]":                `did you mean "tables"?`,
		"tables: [{table: C1}, {table: C1}]":  "table C1 is named twice",
		"tables: [{table: C1, ranks: [one]}]": "ranks[0]",
	} {
		file := filepath.Join(t.TempDir(), "placement.yaml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadRules(file); !errors.Is(err, ErrPlacement) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
