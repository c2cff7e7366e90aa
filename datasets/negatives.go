package datasets

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
)

// withNegatives returns the rows of both parts with their negatives. The parts hold
// positives only, in the slots of implicitSchema.
//
// Cost: for each negative as many draws, on average, as one over the share of
// items that the user does not have, and a binary search for each.
func withNegatives(n job.NegativeSampling, train, test *batch.Batch) (trainAll, testAll *batch.Batch, err error) {
	seen := map[uint64][]uint64{} // items by user, ascending
	addItems(seen, train)
	trainAll, err = extendWithNegatives(n, train, train, seen, "train")
	if err != nil {
		return nil, nil, err
	}
	addItems(seen, test)
	testAll, err = extendWithNegatives(n, test, train, seen, "test")
	return trainAll, testAll, err
}

// addItems adds the items of each user.
func addItems(seen map[uint64][]uint64, rows *batch.Batch) {
	touched := map[uint64]bool{}
	for i, user := range rows.Slots[implicitUser].IDs {
		seen[user] = append(seen[user], rows.Slots[implicitItem].IDs[i])
		touched[user] = true
	}
	for user := range touched {
		slices.Sort(seen[user])
		seen[user] = slices.Compact(seen[user])
	}
}

// extendWithNegatives returns positives, each followed by its negatives, with items of train.
func extendWithNegatives(n job.NegativeSampling, positives, train *batch.Batch, seen map[uint64][]uint64, part string) (*batch.Batch, error) {
	count := n.Count()
	if positives.Samples > (math.MaxInt32-1)/(1+count) {
		return nil, errors.New("negatives: more than 2147483646 rows: lower per-positive")
	}
	catalogue := newCatalogue(train, n.By == job.NegativesPopularity)
	random := rng.New(n.Seed, "negative items of "+part)
	out := oneIDEach(positives.Samples*(1+count), len(positives.Slots))
	for i := range positives.Samples {
		user := positives.Slots[implicitUser].IDs[i]
		if !catalogue.hasOther(seen[user]) {
			return nil, fmt.Errorf("negatives: a user of row %d of the %s rows has every item: there is no negative to draw", i+1, part)
		}
		first := i * (1 + count)
		out.Labels[first] = 1
		for s := range out.Slots {
			id := positives.Slots[s].IDs[i]
			for row := first; row <= first+count; row++ {
				out.Slots[s].IDs[row] = id
			}
		}
		for row := first + 1; row <= first+count; row++ {
			item, genre := catalogue.draw(random, seen[user])
			out.Slots[implicitItem].IDs[row], out.Slots[implicitGenre].IDs[row] = item, genre
		}
	}
	return out, nil
}

// oneIDEach returns rows of label 0 with space for one id in every slot.
func oneIDEach(rows, slots int) *batch.Batch {
	out := &batch.Batch{Samples: rows, Slots: make([]batch.Jagged, slots), Labels: make([]float32, rows)}
	offsets := make([]int32, rows+1) // of all slots: batches are immutable
	for i := range offsets {
		offsets[i] = int32(i)
	}
	for s := range out.Slots {
		out.Slots[s] = batch.Jagged{Offsets: offsets, IDs: make([]uint64, rows)}
	}
	return out
}

// catalogue is what negatives are drawn from: pairs of item and genre, each once
// for the uniform law, or once for each training row.
type catalogue struct {
	items, genres []uint64
	distinct      []uint64 // items, ascending
}

func newCatalogue(train *batch.Batch, byPopularity bool) *catalogue {
	c := &catalogue{}
	known := map[uint64]bool{}
	for i, item := range train.Slots[implicitItem].IDs {
		if byPopularity || !known[item] {
			c.items = append(c.items, item)
			c.genres = append(c.genres, train.Slots[implicitGenre].IDs[i])
		}
		if !known[item] {
			known[item] = true
			c.distinct = append(c.distinct, item)
		}
	}
	slices.Sort(c.distinct)
	return c
}

// hasOther says whether there is an item that is not in seen.
func (c *catalogue) hasOther(seen []uint64) bool {
	if len(seen) < len(c.distinct) {
		return true
	}
	for _, item := range c.distinct {
		if _, has := slices.BinarySearch(seen, item); !has {
			return true
		}
	}
	return false
}

// draw returns an item that is not in seen, of which there must be one.
func (c *catalogue) draw(random *rand.Rand, seen []uint64) (item, genre uint64) {
	for {
		i := random.IntN(len(c.items))
		if _, has := slices.BinarySearch(seen, c.items[i]); !has {
			return c.items[i], c.genres[i]
		}
	}
}
