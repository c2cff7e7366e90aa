package main

import (
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/datasets/synth"
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
	MeanIDs    float64  `json:"ids_per_row"`
	MaxShare   float64  `json:"max_id_share"`
	Zipf       *float64 `json:"zipf"`       // null for fewer than 3 ids
	Singletons float64  `json:"singletons"` // share of distinct
	Missing    float64  `json:"missing"`    // share of rows

	once int                 // number of ids that occur once
	fit  job.SyntheticColumn // the column with a similar distribution; unset without ids
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
		if count.draws == 1 {
			out.once++
		}
	}
	out.MaxShare = float64(mostRows) / float64(c.rows)
	out.Singletons = float64(out.once) / float64(out.Distinct)
	out.fit = synth.Fit(draws)
	if out.Distinct > 2 {
		out.Zipf = &out.fit.Exponent
	}
	return out
}
