package mutate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEveryOperatorFindsItsPlaces(t *testing.T) {
	text := `package p
const kinds = iota + 1
func (s *state) f(rank, step int, list []int) int {
	send(rank, int(step))
	s.drop(list)
	s.count--
	local--
	s.held = nil
	if len(list) < 3 && s.key.Rank == rank {
		fmt.Println(list[4:])
		panic(5 * 6)
	}
	for s.more() { list = list[:step] }
	buffer := make([]int, 7, 8)
	rank *= 9
	return rank / step
}
`
	want := []string{
		"delete-call: send(rank, int(step)) -> ",
		"swap-rank-step: send(rank, int(step)) -> send(int(step), rank)",
		"remove-release: s.drop(list) -> ",
		"remove-release: s.count-- -> ",
		"remove-release: s.held = nil -> ",
		"negate-condition: if len(list) < 3 && s.key.Rank == rank { -> " +
			"if !(len(list) < 3 && s.key.Rank == rank) {",
		"off-by-one: if len(list) < 3 && s.key.Rank == rank { -> " +
			"if (len(list) + 1) < 3 && s.key.Rank == rank {",
		"change-comparison: if len(list) < 3 && s.key.Rank == rank { -> " +
			"if len(list) <= 3 && s.key.Rank == rank {",
		"off-by-one: if len(list) < 3 && s.key.Rank == rank { -> " +
			"if len(list) < (3 + 1) && s.key.Rank == rank {",
		"swap-rank-step: if len(list) < 3 && s.key.Rank == rank { -> " +
			"if len(list) < 3 && s.key.Step == rank {",
		"change-comparison: if len(list) < 3 && s.key.Rank == rank { -> " +
			"if len(list) < 3 && s.key.Rank != rank {",
		"delete-call: fmt.Println(list[4:]) -> ",
		"negate-condition: for s.more() { list = list[:step] } -> for !(s.more()) { list = list[:step] }",
		"off-by-one: for s.more() { list = list[:step] } -> for s.more() { list = list[:step + 1] }",
		"off-by-one: buffer := make([]int, 7, 8) -> buffer := make([]int, (7 + 1), 8)",
		"drop-factor: rank *= 9 -> ",
		"off-by-one: rank *= 9 -> rank *= (9 + 1)",
		"drop-factor: return rank / step -> return rank",
	}
	mutants, err := fileCandidates("p", "p.go", []byte(text), map[string]int{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutants {
		got = append(got, m.Operator+": "+m.Before+" -> "+m.After)
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("no mutant\n\t%s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("unwanted mutant\n\t%s", line)
		}
	}
}

func TestAnEditElsewhereLeavesTheDrawAsItIs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(tiny(t), "ledger", "ledger.go"))
	if err != nil {
		t.Fatal(err)
	}
	ids := func(text string, seed uint64) []string {
		mutants, err := fileCandidates("ledger", "ledger.go", []byte(text), map[string]int{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range Draw(mutants, seed) {
			ids = append(ids, m.ID)
		}
		return ids
	}
	before := ids(string(text), 1)
	if len(before) == 0 {
		t.Fatal("no mutants")
	}
	if got := len(slices.Compact(slices.Sorted(slices.Values(before)))); got != len(before) {
		t.Errorf("%d mutants have %d IDs", len(before), got)
	}
	// The new function moves every line.
	after := ids(strings.Replace(string(text), "import \"fmt\"\n",
		"import \"fmt\"\n\nfunc more() string { return \"\" }\n", 1), 1)
	if !slices.Equal(before, after) {
		t.Error("a new function without mutants changes the draw")
	}
	if slices.Equal(before, ids(string(text), 2)) {
		t.Error("seeds 1 and 2 draw alike")
	}
}
