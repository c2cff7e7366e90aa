package job

import (
	"errors"
	"fmt"
	"slices"
)

// MeanColumn returns the name of the numeric column that a slot of Data.Means has.
func MeanColumn(slot string) string { return "mean of " + slot }

// NumberNames returns the names of the numeric columns of kinds csv and parquet: those of the file, then
// those of Means.
func (d *Data) NumberNames() []string {
	names := slices.Clone(d.Table().Numeric)
	for _, slot := range d.Means {
		names = append(names, MeanColumn(slot))
	}
	return names
}

// validateMeans checks all that does not depend on the columns of the data.
func (d *Data) validateMeans() error {
	switch {
	case len(d.Means) == 0:
		return nil
	case d.Kind == KindSynthetic || d.Kind == KindFollow:
		return fmt.Errorf("means: kind %q has no file of training rows: leave it out", d.Kind)
	case d.Stream:
		return errors.New("means: not with stream, which keeps no training rows in memory")
	case d.LabelValues() == NumberLabels:
		return fmt.Errorf("means: not with labels that are %s: log odds need shares", NumberLabels)
	case len(d.Means) > columnsMax:
		return fmt.Errorf("means: %d: must be at most %d", len(d.Means), columnsMax)
	}
	for i, slot := range d.Means {
		if slices.Contains(d.Means[:i], slot) {
			return fmt.Errorf("means[%d]: %q is there twice", i, slot)
		}
	}
	return nil
}
