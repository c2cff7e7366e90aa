package graph

import "tandem/algo/unit"

// RankTables is what one rank has of the tables.
type RankTables struct {
	Parts  int        `json:"parts"`  // of tables
	Memory unit.Bytes `json:"memory"` // of its accelerator, for rows and their optimizer
	// Load is the estimated time of its work on them, relative to the mean of all ranks.
	Load float64 `json:"load"`
}

// ranks returns what every rank has in a placement.
func (out *plan) ranks(ranks int) []RankTables {
	list, memory := make([]RankTables, ranks), make([]float64, ranks)
	for _, x := range out.pieces {
		for r := x.rank; r < x.rank+x.option.ranks; r++ {
			list[r].Parts++
			memory[r] += x.bytes[0]
			list[r].Load += x.seconds
		}
	}
	for r := range list {
		list[r].Memory = unit.Bytes(memory[r])
		if out.mean > 0 {
			list[r].Load /= out.mean
		}
	}
	return list
}
