package job

import (
	"math"
	"testing"
)

func TestDerivedSlotsAreValidated(t *testing.T) {
	column := func(name string, edges ...float64) DerivedColumn { return DerivedColumn{name, edges} }
	for want, slots := range map[string][]DerivedSlot{
		"": {{"a, b", []DerivedColumn{column("a"), column("b", 1, 2)}},
			{"c", []DerivedColumn{column("c", 0)}}},
		`derived[0].name: empty: name the slot`: {{"", []DerivedColumn{column("c", 0)}}},
		`derived[1].name: "x" is there twice`: {{"x", []DerivedColumn{column("c", 0)}},
			{"x", []DerivedColumn{column("d", 0)}}},
		`derived[0].columns: 0: must be 1 to 8`: {{"x", nil}},
		`derived[0].columns: 9: must be 1 to 8`: {{"x", make([]DerivedColumn, 9)}},
		`derived[0].columns: only "a": add another column, or edges between its numbers`: {{"x",
			[]DerivedColumn{column("a")}}},
		`derived[0].columns[1].column: empty: name a column`: {{"x",
			[]DerivedColumn{column("a"), column("")}}},
		`derived[0].columns[0].edges[1]: 1: must be finite and above the edge before`: {{"x",
			[]DerivedColumn{column("a", 1, 1)}}},
		`derived[0].columns[0].edges[0]: NaN: must be finite and above the edge before`: {{"x",
			[]DerivedColumn{column("a", math.NaN())}}},
		`derived[0].columns[0].edges: 10001: must be at most 10000`: {{"x",
			[]DerivedColumn{column("a", make([]float64, 10_001)...)}}},
	} {
		data := Data{Kind: KindAdultIncome, Derived: slots}
		got := ""
		if err := data.Validate(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("error %q, want %q", got, want)
		}
	}
	data := Data{Kind: KindSynthetic, Synthetic: &Synthetic{Preset: "criteo-1tb", TrainRows: 1, TestRows: 1},
		Derived: []DerivedSlot{{"x", []DerivedColumn{column("c", 0)}}}}
	if err := data.Validate(); err == nil ||
		err.Error() != `derived: kind "synthetic" has no columns of a file: leave it out` {
		t.Error(err)
	}
}
