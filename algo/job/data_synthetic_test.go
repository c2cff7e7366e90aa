package job_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"tandem/algo/job"

	"go.yaml.in/yaml/v3"
)

func TestSyntheticErrorsNameTheField(t *testing.T) {
	for _, c := range []struct {
		change func(*job.Synthetic)
		want   string // prefix of the error
	}{
		{func(s *job.Synthetic) { s.TrainRows = 0 }, "train-rows: 0"},
		{func(s *job.Synthetic) { s.TestRows = -1 }, "test-rows: -1"},
		{func(s *job.Synthetic) { s.Preset = "crito" }, "preset: \"crito\""},
		{func(s *job.Synthetic) { s.Columns = nil }, "columns: empty"},
		{func(s *job.Synthetic) { s.Alpha = 1 }, "alpha: 1"},
		{func(s *job.Synthetic) { s.Alpha = math.NaN() }, "alpha: NaN"},
		{func(s *job.Synthetic) { s.AlphaColumns = []string{"small"} }, "alpha-columns: only"},
		{func(s *job.Synthetic) { s.Alpha, s.AlphaColumns = 0.5, []string{"x"} },
			"alpha-columns[0]: no column"},
		{func(s *job.Synthetic) { s.Numeric = -1 }, "numeric: -1"},
		{func(s *job.Synthetic) { s.PositiveRate = 1 }, "positive-rate: 1"},
		{func(s *job.Synthetic) { s.Columns[2].Name = "small" }, "columns[2].name"},
		{func(s *job.Synthetic) { s.Columns[0].Cardinality = 0 }, "columns[0].cardinality: 0"},
		{func(s *job.Synthetic) { s.Columns[0].Exponent = -1 }, "columns[0].zipf: -1"},
		{func(s *job.Synthetic) { s.Columns[0].Exponent = math.NaN() }, "columns[0].zipf: NaN"},
		{func(s *job.Synthetic) { s.Columns[1].Top = 1 }, "columns[1].top: 1"},
		{func(s *job.Synthetic) { s.Columns[1].Top = 0.04 }, "columns[1].top: 0.04: 20 ids"},
		{func(s *job.Synthetic) { s.Columns[1].Cardinality, s.Columns[1].Top = 1, 0.5 },
			"columns[1].top: 0.5"},
		{func(s *job.Synthetic) { s.Columns[1].IDsPerRow = -1 }, "columns[1].ids-per-row: -1"},
		{func(s *job.Synthetic) { s.Columns[1].IDsPerRow = 1001 }, "columns[1].ids-per-row: 1001"},
		{func(s *job.Synthetic) { s.Conversion = &job.SyntheticConversion{Rate: 1} }, "conversion.rate: 1"},
		{func(s *job.Synthetic) { s.Conversion = &job.SyntheticConversion{Rate: 0.5, Shared: 2} },
			"conversion.shared: 2"},
		{func(s *job.Synthetic) { s.Teacher.Rank = -1 }, "teacher.rank: -1"},
		{func(s *job.Synthetic) { s.Teacher.Scale = math.Inf(1) }, "teacher.scale: +Inf"},
	} {
		spec := job.Synthetic{
			Seed: 1, TrainRows: 10, TestRows: 10, Numeric: 3,
			Columns: []job.SyntheticColumn{
				{Name: "small", Cardinality: 5}, {Cardinality: 20, Exponent: 1},
				{Name: "large", Cardinality: 1e6, Exponent: 1.2},
			},
		}
		c.change(&spec)
		if err := spec.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error %v, want %q…", err, c.want)
		}
	}
}

func TestResolvingTwiceChangesNothing(t *testing.T) {
	spec := job.Synthetic{Preset: job.PresetCriteo, Alpha: 0.2, TrainRows: 1, TestRows: 1}
	once := spec.Resolve()
	if !reflect.DeepEqual(once, once.Resolve()) {
		t.Error("Resolve is not idempotent")
	}
	if c := once.Columns[2]; c.Name != "C3" || c.Top != 0.2 { // the largest table
		t.Errorf("alpha went to another column: C3 is %+v", c)
	}
}

func TestSyntheticFromYAML(t *testing.T) {
	text := "{seed: 4, train-rows: 10, test-rows: 5, alpha: 0.1, columns: [{cardinality: 9, zipf: 1.1}], " +
		"teacher: {scale: 3}}"
	want := job.Synthetic{
		Seed: 4, TrainRows: 10, TestRows: 5, Alpha: 0.1,
		Columns: []job.SyntheticColumn{{Cardinality: 9, Exponent: 1.1}},
		Teacher: job.SyntheticTeacher{Scale: 3},
	}
	var got job.Synthetic
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCriteoHasThePublishedTables(t *testing.T) {
	spec := job.SyntheticCriteo()
	var sum int64
	for _, c := range spec.Columns {
		sum += c.Cardinality
	}
	// 33.76 million ids: dlrm, tools/visualize.py.
	if len(spec.Columns) != 26 || math.Round(float64(sum)/1e4) != 3376 {
		t.Errorf("%d columns with %d ids, want 26 with 33.76 M", len(spec.Columns), sum)
	}
	spec.TrainRows, spec.TestRows = 1, 1
	if err := spec.Validate(); err != nil {
		t.Error(err)
	}
}
