package synth

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestValidateNamesTheField(t *testing.T) {
	for _, c := range []struct {
		change func(*Spec)
		want   string // prefix of the error
	}{
		{func(s *Spec) { s.TrainRows = 0 }, "train-rows: 0"},
		{func(s *Spec) { s.TestRows = -1 }, "test-rows: -1"},
		{func(s *Spec) { s.Preset = "crito" }, "preset: \"crito\""},
		{func(s *Spec) { s.Columns = nil }, "columns: empty"},
		{func(s *Spec) { s.Alpha = 1 }, "alpha: 1"},
		{func(s *Spec) { s.Alpha = math.NaN() }, "alpha: NaN"},
		{func(s *Spec) { s.AlphaColumns = []string{"small"} }, "alpha-columns: only"},
		{func(s *Spec) { s.Alpha, s.AlphaColumns = 0.5, []string{"x"} }, "alpha-columns[0]: no column"},
		{func(s *Spec) { s.Numeric = -1 }, "numeric: -1"},
		{func(s *Spec) { s.PositiveRate = 1 }, "positive-rate: 1"},
		{func(s *Spec) { s.Columns[2].Name = "small" }, "columns[2].name"},
		{func(s *Spec) { s.Columns[0].Cardinality = 0 }, "columns[0].cardinality: 0"},
		{func(s *Spec) { s.Columns[0].Exponent = -1 }, "columns[0].zipf: -1"},
		{func(s *Spec) { s.Columns[0].Exponent = math.NaN() }, "columns[0].zipf: NaN"},
		{func(s *Spec) { s.Columns[1].Top = 1 }, "columns[1].top: 1"},
		{func(s *Spec) { s.Columns[1].Top = 0.04 }, "columns[1].top: 0.04: 20 ids"},
		{func(s *Spec) { s.Columns[1].Cardinality, s.Columns[1].Top = 1, 0.5 }, "columns[1].top: 0.5"},
		{func(s *Spec) { s.Teacher.Rank = -1 }, "teacher.rank: -1"},
		{func(s *Spec) { s.Teacher.Scale = math.Inf(1) }, "teacher.scale: +Inf"},
	} {
		spec := testSpec()
		c.change(&spec)
		if err := spec.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error %v, want %q…", err, c.want)
		}
		if _, err := Generate(spec); err == nil {
			t.Errorf("%q: generated", c.want)
		}
	}
}

func TestResolveTwiceChangesNothing(t *testing.T) {
	spec := Spec{Preset: PresetCriteo, Alpha: 0.2, TrainRows: 1, TestRows: 1}
	once := spec.Resolve()
	if !reflect.DeepEqual(once, once.Resolve()) {
		t.Error("Resolve is not idempotent")
	}
	if c := once.Columns[2]; c.Name != "C3" || c.Top != 0.2 { // the largest table
		t.Errorf("alpha went to another column: C3 is %+v", c)
	}
}

func TestSpecFromYAML(t *testing.T) {
	text := "{seed: 4, train-rows: 10, test-rows: 5, alpha: 0.1, columns: [{cardinality: 9, zipf: 1.1}], teacher: {scale: 3}}"
	want := Spec{
		Seed: 4, TrainRows: 10, TestRows: 5, Alpha: 0.1,
		Columns: []Column{{Cardinality: 9, Exponent: 1.1}}, Teacher: Teacher{Scale: 3},
	}
	var got Spec
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
