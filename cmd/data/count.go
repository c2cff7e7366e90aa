package main

import (
	"fmt"

	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/datasets/census"
	"tandem/datasets/similar"
)

// idCounts counts the ids of one slot, row by row.
type idCounts struct {
	ids     map[uint64]*idCount
	rows    int
	draws   int // ids in all rows
	missing int // rows without a value
}

// idCount is the number of occurrences of one id.
type idCount struct {
	draws   int64 // occurrences
	rows    int   // rows that hold it
	lastRow int   // the last row that holds it, from 1
}

func newIDCounts() *idCounts { return &idCounts{ids: map[uint64]*idCount{}} }

// add counts the ids of further rows.
func (c *idCounts) add(slot batch.Jagged, rows int) {
	empty, minusOne := datasets.CategoryID(""), datasets.CategoryID("-1")
	for i := range rows {
		c.rows++
		ids := slot.SampleIDs(i)
		c.draws += len(ids)
		if len(ids) == 0 || len(ids) == 1 && (ids[0] == empty || ids[0] == minusOne) {
			c.missing++
		}
		for _, id := range ids {
			count := c.ids[id]
			if count == nil {
				count = &idCount{}
				c.ids[id] = count
			}
			count.draws++
			if count.lastRow != c.rows {
				count.rows, count.lastRow = count.rows+1, c.rows
			}
		}
	}
}

// slotProfile is the distribution of the ids in one slot: see profileUsage.
type slotProfile struct {
	Name       string   `json:"name"`
	Distinct   int      `json:"distinct"`
	IDs        float64  `json:"ids"`
	IDsLow     float64  `json:"ids_low"`
	IDsHigh    *float64 `json:"ids_high"` // null: the rows do not bound the number of ids from above
	Coverage   float64  `json:"coverage"`
	MeanIDs    float64  `json:"ids_per_row"`
	MaxShare   float64  `json:"max_id_share"`
	Zipf       *float64 `json:"zipf"`       // null for fewer than 3 ids
	Singletons float64  `json:"singletons"` // share of distinct
	Missing    float64  `json:"missing"`    // share of rows

	occurrences []int64 // of each id, in any order
}

func (c *idCounts) profile(name string) slotProfile {
	out := slotProfile{
		Name: name, Distinct: len(c.ids),
		MeanIDs: float64(c.draws) / float64(c.rows), Missing: float64(c.missing) / float64(c.rows),
	}
	if len(c.ids) == 0 {
		return out
	}
	mostRows := 0
	draws := make([]int64, 0, len(c.ids)) // the order does not matter
	for _, count := range c.ids {
		draws = append(draws, count.draws)
		mostRows = max(mostRows, count.rows)
	}
	out.MaxShare = float64(mostRows) / float64(c.rows)
	counted := census.New(draws)
	out.Coverage = counted.Coverage()
	out.Singletons = float64(counted.Occurring(1)) / float64(out.Distinct)
	estimate := counted.Estimate()
	out.IDs, out.IDsLow = estimate.IDs, estimate.Low
	if !estimate.AtLeast {
		out.IDsHigh = &estimate.High
	}
	out.occurrences = draws
	if out.Distinct > 2 {
		zipf := similar.Exponent(draws)
		out.Zipf = &zipf
	}
	return out
}

// idsInAll returns what the rows say about the number of ids of the column.
func (s slotProfile) idsInAll() string {
	switch {
	case s.IDsHigh == nil:
		return fmt.Sprintf("≥ %.0f", s.IDsLow)
	case *s.IDsHigh == s.IDsLow:
		return fmt.Sprintf("%.0f", s.IDsLow)
	}
	return fmt.Sprintf("%.0f–%.0f", s.IDsLow, *s.IDsHigh)
}
