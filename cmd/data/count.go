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
	draws   int // ids of all rows
	missing int // rows without a value
}

// idCount is how often one id is seen.
type idCount struct {
	draws   int64 // in all
	rows    int   // that hold it once or more
	lastRow int   // the last of them, from 1
}

func newIDCounts() *idCounts { return &idCounts{ids: map[uint64]*idCount{}} }

// add counts the ids of so many more rows.
func (c *idCounts) add(slot batch.Jagged, rows int) {
	empty, minusOne := datasets.CategoryID(""), datasets.CategoryID("-1")
	for i := range rows {
		c.rows++
		ids := slot.Of(i)
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

// slotProfile is how the ids of one slot are spread: see profileUsage.
type slotProfile struct {
	Name       string   `json:"name"`
	Distinct   int      `json:"distinct"`
	Pooling    float64  `json:"ids_per_row"`
	MaxShare   float64  `json:"max_id_share"`
	Zipf       *float64 `json:"zipf"`       // null for fewer than 3 ids
	Singletons float64  `json:"singletons"` // share of distinct
	Missing    float64  `json:"missing"`    // share of rows

	once int                 // ids seen once
	law  job.SyntheticColumn // that draws alike; unset without ids
}

func (c *idCounts) profile(name string) slotProfile {
	out := slotProfile{
		Name: name, Distinct: len(c.ids),
		Pooling: float64(c.draws) / float64(c.rows), Missing: float64(c.missing) / float64(c.rows),
	}
	if len(c.ids) == 0 {
		return out
	}
	mostRows := 0
	draws := make([]int64, 0, len(c.ids)) // in any order: nothing below depends on it
	for _, count := range c.ids {
		draws = append(draws, count.draws)
		mostRows = max(mostRows, count.rows)
		if count.draws == 1 {
			out.once++
		}
	}
	out.MaxShare = float64(mostRows) / float64(c.rows)
	out.Singletons = float64(out.once) / float64(out.Distinct)
	out.law = synth.Fit(draws)
	if out.Distinct > 2 {
		out.Zipf = &out.law.Exponent
	}
	return out
}
