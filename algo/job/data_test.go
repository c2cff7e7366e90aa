package job_test

import (
	"math"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
)

func TestDataErrorsNameTheField(t *testing.T) {
	spec := func(change func(*job.Table)) job.Data {
		s := &job.Table{Columns: []string{"u", "x", "y"}, Slots: []job.IDColumn{{Column: "u"}},
			Numeric: []string{"x"}, Label: "y"}
		change(s)
		return job.Data{Kind: job.KindCSV, Path: "p", CSV: s}
	}
	weighted := func(setting job.SlotSetting) job.Data {
		d := spec(func(s *job.Table) { s.Slots[0].WeightSeparator = ":" })
		d.Slots = []job.SlotSetting{setting}
		return d
	}
	for _, c := range []struct {
		data job.Data
		want string
	}{
		{job.Data{}, `kind: ""`},
		{job.Data{Kind: "cirteo"}, `kind: "cirteo"`},
		{job.Data{Kind: job.KindCriteo}, "path: empty"},
		{job.Data{Kind: job.KindCriteo, Train: "a"}, "path: empty"},
		{job.Data{Kind: job.KindCriteo, Path: "a", Train: "b"}, "path: give either"},
		{job.Data{Kind: job.KindCriteo, Train: "a", Test: "b", Split: job.Split{Test: 0.1}}, "split: only"},
		{job.Data{Kind: job.KindCriteo, Path: "a", Split: job.Split{Test: 1}}, "split.test: 1"},
		{job.Data{Kind: job.KindCriteo, Path: "a", Split: job.Split{Test: math.NaN()}}, "split.test: NaN"},
		{job.Data{Kind: job.KindCriteo, Path: "a", Split: job.Split{How: "first"}}, `split.how: "first"`},
		{job.Data{Kind: job.KindCriteo, Path: "a", Split: job.Split{Seed: 1}}, "split.seed: 1"},
		{job.Data{Kind: job.KindCriteo, Path: "a", OnBadRow: job.OnBadRow{Skip: -1}}, "on-bad-row: skip:-1"},
		{job.Data{Kind: job.KindCriteo, Path: "a", CSV: &job.Table{}}, "csv: must"},
		{job.Data{Kind: job.KindCSV, Path: "a"}, "csv: must"},
		{job.Data{Kind: job.KindAdultIncome, Path: "a"}, "path, train, test:"},
		{job.Data{Kind: job.KindAdultIncome, Split: job.Split{Test: 0.5}}, "split: kind"},
		{job.Data{Kind: job.KindAdultIncome, Synthetic: &job.Synthetic{}}, "synthetic: must"},
		{job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{}}, "synthetic.train-rows: 0"},
		{job.Data{Kind: job.KindMovieLensImplicit, Path: "a"},
			"path: kind \"movielens-implicit\" needs train and test"},
		{job.Data{Kind: job.KindMovieLensImplicit, Train: "a", Test: "b",
			Negatives: job.NegativeSampling{PerPositive: -1}}, "negatives.per-positive: -1"},
		{spec(func(s *job.Table) { s.Slots[0].Weights = "w" }), `csv.slots[0].weights: "w" is not in`},
		{spec(func(s *job.Table) { s.Slots[0].Weights = "x" }), `csv.numeric[0]: column "x" has another use`},
		{spec(func(s *job.Table) { s.Slots[0].Weights = "u" }), `csv.slots[0].weights: column "u" has`},
		{spec(func(s *job.Table) { s.Slots[0].Weights, s.Slots[0].WeightSeparator = "x", ":" }),
			"csv.slots[0].weight-separator: the weights are in a column"},
		{spec(func(s *job.Table) { s.Slots[0].Separator, s.Slots[0].WeightSeparator = "|", "|" }),
			`csv.slots[0].weight-separator: "|" stands between ids already`},
		{weighted(job.SlotSetting{Slot: "u", Pooling: job.PoolMax}), "slots[0].pooling: max takes no"},
		{weighted(job.SlotSetting{Slot: "u", Raw: 2}), "slots[0].raw: the ids of u have weights"},
		{spec(func(s *job.Table) { s.LabelValues = "rates" }),
			`csv.label-values: "rates": must be shares or numbers`},
		{spec(func(s *job.Table) {
			s.LabelValues, s.Positive, s.Negative = job.ShareLabels, []string{"1"}, []string{"0"}
		}), "csv.positive, negative: labels are shares"},
		{spec(func(s *job.Table) { s.Weight = "u" }), `csv.slots[0].column: column "u" has another use`},
		{spec(func(s *job.Table) { s.Weight = "z" }), `csv.weight: "z" is not in columns`},
		{spec(func(s *job.Table) { s.Columns, s.Impressions, s.LabelValues = nil, "n", job.ShareLabels }),
			"csv.impressions: labels are counts of clicks"},
		{spec(func(s *job.Table) { s.DecimalComma = []string{"y"} }), `csv.decimal-comma[0]: "y" is not in`},
		{job.Data{Kind: job.KindMovieLensImplicit, Train: "a", Test: "b",
			Negatives: job.NegativeSampling{By: "luck"}}, `negatives.by: "luck"`},
		{job.Data{Kind: job.KindMovieLens, Path: "a", Negatives: job.NegativeSampling{Seed: 1}},
			"negatives: only used"},
		{job.Data{Kind: job.KindCriteo, Path: "a", Split: job.Split{How: job.SplitTime, Column: "at"}},
			`split.how: "time" needs kind "csv"`},
		{job.Data{Kind: job.KindCriteo, Path: "a", Split: job.Split{How: job.SplitTime}},
			"split.how, column"},
		{job.Data{Kind: job.KindCriteo, Path: "a", Split: job.Split{Column: "at"}}, "split.how, column"},
		{spec(func(s *job.Table) { s.Delimiter = ";;" }), `csv.delimiter: ";;"`},
		{spec(func(s *job.Table) { s.Comment = "," }), `csv.comment: ","`},
		{spec(func(s *job.Table) { s.Slots, s.Numeric = nil, nil }), "csv.slots, numeric: empty"},
		{spec(func(s *job.Table) { s.EmptyNumeric, s.Missing = new(float64), []string{""} }),
			"csv.empty-numeric, missing: an empty field"},
		{spec(func(s *job.Table) { s.Slots[0].Column = "v" }), `csv.slots[0].column: "v" is not in columns`},
		{spec(func(s *job.Table) { s.Slots[0].Column = "" }), "csv.slots[0].column: empty"},
		{spec(func(s *job.Table) { s.Numeric[0] = "u" }), `csv.numeric[0]: column "u" has another use`},
		{spec(func(s *job.Table) { s.Label = "" }), "csv.label: empty"},
		{spec(func(s *job.Table) { s.Label = "z" }), `csv.label: "z" is not in columns`},
		{spec(func(s *job.Table) { s.Columns[1] = "u" }), `csv.columns[1]: "u"`},
		{spec(func(s *job.Table) { s.Positive = []string{"5"} }), "csv.positive, negative:"},
		{spec(func(s *job.Table) { s.Positive, s.Negative = []string{"5"}, []string{"5"} }),
			`csv.positive[0]: "5"`},
		{spec(func(s *job.Table) { s.EmptyNumeric = new(math.Inf(1)) }), "csv.empty-numeric: +Inf"},
		{spec(func(s *job.Table) { s.DecimalComma = []string{"u"} }),
			`csv.decimal-comma[0]: "u" is not in numeric`},
		{spec(func(s *job.Table) { s.DecimalComma, s.Thousands = s.Numeric, s.Numeric }),
			`csv.thousands[0]: column "x" has a decimal comma already`},
		{job.Data{Kind: job.KindParquet, Path: "a", Parquet: &job.Table{Numeric: []string{"x"}, Label: "y",
			Thousands: []string{"x"}}}, "parquet.decimal-comma, thousands: a Parquet file has numbers"},
	} {
		if err := c.data.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error %v, want %q…", err, c.want)
		}
	}
}

func TestDataFromYAML(t *testing.T) {
	text := `
kind: csv
path: ratings.csv
on-bad-row: skip:5
split: {test: 0.1, how: random, seed: 7}
csv:
  delimiter: "\t"
  slots: [{column: user}, {column: genres, separator: "|"}]
  label: rating
  positive: ["4", "5"]
  negative: ["1", "2", "3"]
`
	var data job.Data
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&data); err != nil {
		t.Fatal(err)
	}
	if err := data.Validate(); err != nil {
		t.Error(err)
	}
	if data.OnBadRow.Skip != 5 || data.Split != (job.Split{Test: 0.1, How: job.SplitRandom, Seed: 7}) ||
		data.CSV.Slots[1].Separator != "|" {
		t.Errorf("decoded %+v", data)
	}
	back, err := yaml.Marshal(data)
	if err != nil || !strings.Contains(string(back), "on-bad-row: skip:5\n") {
		t.Errorf("encoded %s, error %v", back, err)
	}
	if err := yaml.Unmarshal([]byte("on-bad-row: skip:some"), &data); err == nil ||
		!strings.Contains(err.Error(), `"skip:100"`) {
		t.Errorf("bad policy: %v", err)
	}
}

func TestCacheIsOffOrAnAbsoluteFolder(t *testing.T) {
	for text, want := range map[string]string{"off": "", "": "", "/somewhere": "",
		"somewhere": `cache: "somewhere": must be "off" or an absolute folder`} {
		data := job.Data{Kind: job.KindAdultIncome, Cache: text}
		if err := data.Validate(); want == "" && err != nil || want != "" &&
			(err == nil || err.Error() != want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestParquetErrorsNameTheField(t *testing.T) {
	for _, c := range []struct {
		change func(*job.Data)
		want   string
	}{
		{func(c *job.Data) { c.Parquet = nil }, `parquet: must be given for kind "parquet"`},
		{func(c *job.Data) { c.Parquet.Delimiter = "," }, "parquet.delimiter, comment, columns: "},
		{func(c *job.Data) { c.Parquet.Slots[0].Separator = "|" }, "parquet.slots[0].separator: "},
		{func(c *job.Data) { c.Parquet.Slots[0].WeightSeparator = ":" }, "parquet.slots[0].weight-separator"},
		{func(c *job.Data) { c.Parquet.Label = "" }, "parquet.label: empty"},
	} {
		bad := job.Data{
			Kind: job.KindParquet, Path: "a.parquet",
			Parquet: &job.Table{Slots: []job.IDColumn{{Column: "u"}}, Label: "l"},
		}
		c.change(&bad)
		if err := bad.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
