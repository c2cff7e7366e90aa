package phase

import (
	_ "embed" // the columns and the simulated staleness
	"fmt"
	"slices"

	"tandem/algo/job"
)

//go:embed columns.yaml
var columnsText []byte

// column is an id column of a public data set.
type column struct {
	Data   string  `yaml:"data" json:"data"`
	Name   string  `yaml:"column" json:"column"`
	IDs    int64   `yaml:"ids" json:"ids"`
	Top    float64 `yaml:"top" json:"top"` // share of rows with the most frequent id
	Source string  `yaml:"source" json:"source"`
	Note   string  `yaml:"note,omitempty" json:"note,omitempty"`
}

// loadColumns reads columns.yaml.
func loadColumns() ([]column, error) {
	var file struct {
		Columns []column `yaml:"columns"`
	}
	if err := job.Decode(columnsText, "columns.yaml", &file); err != nil {
		return nil, err
	}
	for _, c := range file.Columns {
		if !(c.Top > 0 && c.Top < 1) || c.IDs < 1 || c.Source == "" {
			return nil, fmt.Errorf("columns.yaml: %s %s: a share of %v of %d ids, source %q", c.Data, c.Name,
				c.Top, c.IDs, c.Source)
		}
	}
	return file.Columns, nil
}

// dataSets returns the data sets of the columns in their order.
func dataSets(columns []placedColumn) (names []string) {
	for _, c := range columns {
		if !slices.Contains(names, c.Data) {
			names = append(names, c.Data)
		}
	}
	return names
}

// placedColumn is a column with what was measured around it.
type placedColumn struct {
	column
	// Regions are by optimizer, at the tuned rate and the longest mean delay.
	Regions map[string]region `json:"regions"`
}

// placeColumns sets the columns and their places on clusters.
func (r *result) placeColumns(l *lateness) error {
	columns, err := loadColumns()
	if err != nil {
		return err
	}
	r.Lateness, r.Columns = l, nil
	d := newDiagram(r.Cells)
	for _, c := range columns {
		placed := placedColumn{column: c, Regions: map[string]region{}}
		for _, kind := range r.kinds() {
			placed.Regions[kind] = d.find(kind, tuned, c.Top, l.longest()).Region
		}
		r.Columns = append(r.Columns, placed)
	}
	return nil
}
