package synth

import (
	"flag"
	"math"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

var long = flag.Bool("long", false, "draw more rows")

// preset returns rows of a preset, and the position of each of its columns.
func preset(t *testing.T, name string, rows int) (*Data, map[string]int) {
	t.Helper()
	data := mustGenerate(t, job.Synthetic{Preset: name, Seed: 5, TrainRows: rows, TestRows: 1})
	at := map[string]int{}
	for i, column := range data.Columns {
		at[column] = i
	}
	return data, at
}

// The table was counted from 20,000 rows of the Criteo Kaggle log whose ids are frequency ranks over
// all rows. Here, a generated row counts if its id is that of one of the first ranks. The sampling
// error is √(0.25/100000) = 0.0016, and the tolerance is the one that the preset promises.
func TestCriteoCoversAsMeasured(t *testing.T) {
	rows := 100_000
	if *long {
		rows = 2_000_000
	}
	measured := map[string][]float64{ // of the top 10, 100, …, 10⁶
		"C3":  {0.161, 0.272, 0.419, 0.563, 0.669, 0.766},
		"C12": {0.160, 0.288, 0.441, 0.587, 0.696, 0.790},
		"C21": {0.166, 0.306, 0.462, 0.616, 0.727, 0.825},
		"C16": {0.166, 0.318, 0.489, 0.657, 0.778, 0.873},
		"C4":  {0.226, 0.368, 0.564, 0.764, 0.900, 0.966},
		"C24": {0.357, 0.536, 0.745, 0.920, 0.990, 1},
		"C26": {0.561, 0.679, 0.824, 0.949, 0.998, 1},
		"C10": {0.301, 0.442, 0.721, 0.953, 1, 1},
		"C15": {0.091, 0.398, 0.812, 0.999, 1, 1},
		"C7":  {0.060, 0.253, 0.641, 0.997, 1, 1},
		"C11": {0.106, 0.355, 0.796, 1, 1, 1},
		"C18": {0.229, 0.594, 0.942, 1, 1, 1},
		"C13": {0.117, 0.408, 0.860, 1, 1, 1},
	}
	data, at := preset(t, job.PresetCriteo, rows)
	spec := job.Synthetic{Preset: job.PresetCriteo, Seed: 5, TrainRows: rows, TestRows: 1}.Resolve()
	columns := newColumns(spec)
	for name, want := range measured {
		c := at[name]
		times := map[uint64]int{}
		for _, id := range data.Train.Slots[c].IDs {
			times[id]++
		}
		within, top := 0, int64(0)
		for i, share := range want {
			for end := min(int64(math.Pow10(i+1)), spec.Columns[c].Cardinality); top < end; top++ {
				within += times[columns[c].id(top+1)]
			}
			if got := float64(within) / float64(rows); math.Abs(got-share) > 0.03 {
				t.Errorf("%s: top %d in %.3f of the rows, measured %.3f", name, top, got, share)
			}
		}
	}
}

// sameGiven returns, for rows with equal ids of one slot, the share of pairs that have equal ids of
// another, as the mean over the rows whose first id is in several rows and is not the most frequent.
func sameGiven(rows *batch.Batch, first, second int) float64 {
	groups, times := map[uint64]map[uint64]int{}, map[uint64]int{}
	for i, id := range rows.Slots[first].IDs {
		if groups[id] == nil {
			groups[id] = map[uint64]int{}
		}
		groups[id][rows.Slots[second].IDs[i]]++
		times[id]++
	}
	most := 0
	for _, n := range times {
		most = max(most, n)
	}
	same, all := 0.0, 0.0
	for id, n := range times {
		if n < 2 || n == most {
			continue
		}
		for _, m := range groups[id] {
			same += float64(m*(m-1)) / float64(n-1)
		}
		all += float64(n)
	}
	return same / all
}

// In the 20,000 real rows of the table above, equal ids of the first column go with equal ids of the
// second in this share of the pairs. The generated columns agree where an id determines another, and
// where columns do not depend on each other; the reverse of a function is less sharp.
func TestCriteoColumnsDependOnEachOther(t *testing.T) {
	data, at := preset(t, job.PresetCriteo, 20_000)
	for _, c := range []struct {
		first, second       string
		measured, tolerance float64
	}{
		{"C3", "C12", 1, 0.01}, {"C3", "C21", 1, 0.01}, {"C3", "C16", 1, 0.01}, {"C12", "C16", 1, 0.01},
		{"C3", "C4", 1, 0.01}, {"C3", "C24", 1, 0.01}, {"C7", "C11", 0.92, 0.1}, {"C7", "C13", 1, 0.01},
		{"C15", "C18", 1, 0.01},
		{"C12", "C3", 0.94, 0.2}, {"C21", "C12", 0.92, 0.2}, {"C11", "C7", 0.51, 0.2},
		{"C18", "C15", 0.45, 0.2},
		{"C3", "C7", 0.07, 0.1}, {"C10", "C3", 0.03, 0.1}, {"C7", "C3", 0.03, 0.1},
	} {
		if got := sameGiven(data.Train, at[c.first], at[c.second]); math.Abs(got-c.measured) > c.tolerance {
			t.Errorf("%s → %s: %.2f, measured %.2f", c.first, c.second, got, c.measured)
		}
	}
}

// Blanks have their measured shares, and columns of one set are blank in the same rows. The
// sampling error is √(0.25/20000) = 0.0035.
func TestCriteoBlanksComeTogether(t *testing.T) {
	data, at := preset(t, job.PresetCriteo, 20_000)
	isBlank := func(column string, row int) bool {
		return data.Train.Slots[at[column]].IDs[row] == BlankID
	}
	for _, set := range []struct {
		share   float64
		columns []string
	}{
		{0.0407, []string{"C3", "C12", "C16", "C21", "C4", "C24"}},
		{0.4177, []string{"C19", "C20", "C25", "C26"}},
	} {
		for _, column := range set.columns {
			blank, alone := 0, 0
			for row := range data.Train.Samples {
				if isBlank(column, row) {
					blank++
				}
				if isBlank(column, row) != isBlank(set.columns[0], row) {
					alone++
				}
			}
			// Shares are rounded to four digits and, in C24, to the ranks around it.
			if got := float64(blank) / 20_000; math.Abs(got-set.share) > 0.015 || alone > 20 {
				t.Errorf("%s: blank in %.4f of the rows, want %.4f; in %d rows without %s or the reverse",
					column, got, set.share, alone, set.columns[0])
			}
		}
	}
}

// Of the columns that repeat ids, every preset has the promised number per row.
func TestPresetsHaveTheirHotSizes(t *testing.T) {
	for name, want := range map[string]int{
		"criteo": 26, "criteo-1tb": 214, "avazu": 22, "taobao": 165, "kwai-like": 121,
	} {
		data, _ := preset(t, name, 64)
		ids := 0
		for _, slot := range data.Train.Slots {
			ids += len(slot.IDs)
		}
		// Kwai's searches are 2 or 3 a row.
		if got := float64(ids) / 64; math.Abs(got-float64(want)) > 1 {
			t.Errorf("%s: %v ids a row, want %d", name, got, want)
		}
	}
	if !slices.Equal(job.SyntheticPresets(), []string{"avazu", "criteo-1tb", "criteo", "kwai-like",
		"taobao"}) {
		t.Errorf("presets %q", job.SyntheticPresets())
	}
}
