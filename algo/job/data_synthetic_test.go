package job_test

import (
	"crypto/sha256"
	"fmt"
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
		{func(s *job.Synthetic) { s.Preset = "crito" },
			"preset: \"crito\": no preset of generated data; the " +
				"nearest is \"criteo\""},
		{func(s *job.Synthetic) { s.Preset = "../data" }, "preset: \"../data\": no preset"},
		{func(s *job.Synthetic) { s.RowsPerDay = -1 }, "rows-per-day: -1"},
		{func(s *job.Synthetic) { s.RowsPerDay, s.TrainRows = 1, job.SyntheticRowsMax }, "rows-per-day: 1"},
		{func(s *job.Synthetic) { s.Columns[0].Drift = 0.5 }, "columns[0].drift: 0.5: needs"},
		{func(s *job.Synthetic) { s.Columns[0].Drift = 1.5 }, "columns[0].drift: 1.5"},
		{func(s *job.Synthetic) { s.Columns[0].Blank = 6 }, "columns[0].blank: 6"},
		{func(s *job.Synthetic) { s.Columns[0].Coverage = points(1, 0.5, 1, 0.6) },
			"columns[0].coverage[1].top: 1"},
		{func(s *job.Synthetic) { s.Columns[0].Coverage = points(5, 0.5) }, "columns[0].coverage[0].top: 5"},
		{func(s *job.Synthetic) { s.Columns[0].Coverage = points(1, 0.5, 2, 0.5) },
			"columns[0].coverage[1].share: 0.5"},
		{func(s *job.Synthetic) { s.Columns[0].Coverage = points(1, 1) }, "columns[0].coverage[0].share: 1"},
		{func(s *job.Synthetic) { s.Columns[0].Coverage = points(1, math.NaN()) },
			"columns[0].coverage[0].share: NaN"},
		{func(s *job.Synthetic) { s.Columns[0].Coverage = points(1, 0.2, 2, 0.6) },
			"columns[0].coverage[1]: ids 2 to 2 have a mean share of 0.4, more than the 0.2"},
		{func(s *job.Synthetic) { s.Columns[0].Coverage = points(4, 0.5) },
			"columns[0].coverage[0]: ids 5 to 5"},
		{func(s *job.Synthetic) { s.Columns[1].Coverage = points(4, 0.5) }, "columns[1].zipf: 1: coverage"},
		{func(s *job.Synthetic) { s.Ties = []job.SyntheticTie{{}} }, "ties[0].columns: empty"},
		{func(s *job.Synthetic) { s.Ties = []job.SyntheticTie{{Columns: []string{"x"}}} },
			"ties[0].columns[0]: no column"},
		{func(s *job.Synthetic) { s.Ties = []job.SyntheticTie{{Columns: []string{"large"}}} },
			"ties[0].columns[0]: column \"large\" has no coverage"},
		{func(s *job.Synthetic) { s.Ties = []job.SyntheticTie{{Strength: 2}} }, "ties[0].strength: 2"},
		{func(s *job.Synthetic) {
			s.Columns[0].Coverage = points(1, 0.5)
			s.Ties = []job.SyntheticTie{{Columns: []string{"small", "small"}}}
		}, "ties[0].columns[1]: column \"small\" is there twice"},
		{func(s *job.Synthetic) {
			s.Columns[0].Coverage = points(1, 0.5)
			s.Blanks = [][]string{{"small"}}
		}, "blanks[0][0]: column \"small\" has no blank"},
		{func(s *job.Synthetic) { s.Teacher.Cubic = -1 }, "teacher.cubic: -1"},
		{func(s *job.Synthetic) { s.Teacher.Rare = math.NaN() }, "teacher.rare: NaN"},
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
		{func(s *job.Synthetic) { s.Columns[1].Weight = -1 }, "columns[1].weight: -1"},
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

// points returns the points of ranks and shares.
func points(values ...float64) (points []job.CoveragePoint) {
	for i := 0; i < len(values); i += 2 {
		points = append(points, job.CoveragePoint{Top: int64(values[i]), Share: values[i+1]})
	}
	return points
}

// All numbers of the presets are settled. One that changes on purpose changes its hash here.
func TestPresetsAreFrozen(t *testing.T) {
	for name, want := range map[string]string{
		"avazu": "e8e057e51f8ebdb7", "criteo-1tb": "a5df4abf398d7f7e", "criteo": "813d840df0507410",
		"kwai-like": "dff38bb237d35808", "taobao": "1926359740a7d052",
	} {
		spec := job.Synthetic{Preset: name, Seed: 1, TrainRows: 1, TestRows: 1}
		if err := spec.Validate(); err != nil {
			t.Error(err)
		}
		text, err := yaml.Marshal(spec.Resolve())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(text))[:16]; got != want {
			t.Errorf("preset %s has hash %s, want %s", name, got, want)
		}
	}
	if n := len(job.SyntheticPresets()); n != 5 {
		t.Errorf("%d presets, of which 5 are frozen", n)
	}
}

// A preset supplies what a job leaves out, and nothing else.
func TestPresetSuppliesWhatIsAbsent(t *testing.T) {
	all := job.Synthetic{Preset: job.PresetCriteo}.Resolve()
	if len(all.Columns) != 26 || len(all.Ties) == 0 || len(all.Blanks) == 0 || all.Numeric != 13 ||
		all.PositiveRate != 0.2562 || !all.IsAddressable() {
		t.Errorf("%d columns, %d ties, %d blanks, %d numbers, positive rate %v", len(all.Columns),
			len(all.Ties), len(all.Blanks), all.Numeric, all.PositiveRate)
	}
	own := job.Synthetic{Preset: job.PresetCriteo, Columns: []job.SyntheticColumn{{Cardinality: 3}},
		PositiveRate: 0.5}.Resolve()
	if len(own.Columns) != 1 || own.Ties != nil || own.Blanks != nil || own.PositiveRate != 0.5 ||
		own.Numeric != 13 || own.IsAddressable() {
		t.Errorf("with columns of its own, a job becomes %+v", own)
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
	spec := job.Synthetic{Preset: job.PresetCriteo}.Resolve()
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
