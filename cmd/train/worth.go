package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"tandem/algo/exec/worth"
	"tandem/datasets"
	"tandem/runtime/inference"
)

// modelWorth is what the model of the first mode and seed is worth on the test rows, beyond its AUC.
type modelWorth struct {
	Mode string `json:"mode"`
	// Importance is by column; null with --without importance.
	Importance *worth.Importance `json:"importance"`
	ByValue    []columnSlices    `json:"by_value"`
	// ByTime are parts of the test rows in the order of time, the earliest first, if there is an order.
	ByTime []worth.Slice `json:"by_time,omitempty"`
}

// columnSlices are the test rows by the values of a column.
type columnSlices struct {
	Column string       `json:"column"`
	Slices []valueSlice `json:"slices"`
}

type valueSlice struct {
	Value string `json:"value"`
	worth.Slice
}

const (
	// slicedColumns is the largest number of columns with slices.
	slicedColumns = 4
	// timeParts is the largest number of parts by time, each with timeRarer rows of the rarer class.
	timeParts, timeRarer = 10, 20
	// calibrationBins is the number of groups of a calibration plot.
	calibrationBins = 10
	// namedRows is the number of rows in which texts of ids are looked for.
	namedRows = 10_000
)

// gainShares are the shares of the test rows, from the highest prediction down, of a gains curve.
var gainShares = []float64{0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}

// measureWorth measures what the model of the first run is worth, which is in the results folder.
func (r *report) measureWorth(ctx context.Context, f *flags, dataDir, folder string) error {
	data := f.opened
	if !r.classes { // what follows counts positive rows
		return nil
	}
	first := r.Runs[0]
	r.Worth = &modelWorth{Mode: first.Mode}
	features := worth.Features(&data.Schema, &r.job.Data)
	if !slices.Contains(f.without, importancePart) {
		model, err := inference.OpenOn(f.backend(), filepath.Join(folder, modelFolder(first.Mode)))
		if err != nil {
			return err
		}
		defer model.Close()
		r.Worth.Importance, err = worth.Permute(ctx, model.Predict, data.Test, features, r.Seed)
		if err != nil {
			return err
		}
	}
	texts, err := datasets.Texts(r.job.Data, dataDir, namedRows)
	if err != nil {
		texts = nil // the file has changed since it was read; slices have other names then
	}
	r.Worth.ByValue = []columnSlices{}
	for _, feature := range byFall(features, r.Worth.Importance) {
		found := worth.ByValue(first.predicted, r.labels, data.Test, feature)
		if found == nil {
			continue
		}
		of := columnSlices{Column: feature.Name}
		for _, s := range found {
			of.Slices = append(of.Slices, valueSlice{valueName(&s, feature, texts[feature.Name], data), s})
		}
		if r.Worth.ByValue = append(r.Worth.ByValue, of); len(r.Worth.ByValue) == slicedColumns {
			break
		}
	}
	all := worth.InOrder(first.predicted, r.labels, 1)[0]
	rarer := min(all.Positives, all.Rows-all.Positives)
	if parts := min(timeParts, rarer/timeRarer); data.Latest && parts > 1 {
		r.Worth.ByTime = worth.InOrder(first.predicted, r.labels, parts)
	}
	return nil
}

// byFall returns features in the order of importance.
func byFall(features []worth.Feature, importance *worth.Importance) []worth.Feature {
	if importance == nil {
		return features
	}
	rank := map[string]int{}
	for i, fall := range importance.Falls {
		for _, name := range fall.Columns {
			rank[name] = i
		}
	}
	features = slices.Clone(features)
	slices.SortStableFunc(features, func(a, b worth.Feature) int {
		return cmp.Compare(rank[a.Name], rank[b.Name])
	})
	return features
}

// valueName returns the text of the value of a slice, or a part of its hash where the text is not known.
func valueName(s *worth.Slice, f worth.Feature, texts map[uint64]string, data *datasets.Dataset) string {
	if len(f.Numbers) > 0 {
		scaling := data.Scaling[f.Numbers[0]]
		return fmt.Sprintf("%.6g", float64(s.Number)*scaling.Std+scaling.Mean)
	}
	text, known := texts[s.ID]
	switch {
	case !known:
		return fmt.Sprintf("id %08x…", s.ID>>32)
	case text == "":
		return "(empty)"
	}
	return text
}
