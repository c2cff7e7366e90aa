package pytorch

import (
	"tandem/algo/numeric/batch"
	"tandem/datasets"
)

// AddRows adds the rows of a training to the values for a peer: "train ids" and "test ids", samples × slots,
// and numbers and labels of the same names. Every slot has one id. It numbers ids from 0 in the order in
// which they appear, so that a peer needs no rows for ids that do not occur, and returns how many there are.
func AddRows(values map[string]any, data *datasets.Dataset) (ids int) {
	type slotID struct {
		slot int
		id   uint64
	}
	known := map[slotID]int64{}
	numbered := func(rows *batch.Batch) (numbers []int64) {
		for i := range rows.Samples {
			for s, slot := range rows.Slots {
				key := slotID{s, slot.IDs[i]}
				number, seen := known[key]
				if !seen {
					number = int64(len(known))
					known[key] = number
				}
				numbers = append(numbers, number)
			}
		}
		return numbers
	}
	values["train ids"], values["test ids"] = numbered(data.Train), numbered(data.Test)
	values["train numbers"], values["test numbers"] = data.Train.Dense, data.Test.Dense
	values["train labels"], values["test labels"] = data.Train.Labels, data.Test.Labels
	return len(known)
}
