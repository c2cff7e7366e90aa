// Package negatives draws the rows of label 0 for data that record only what users did.
package negatives

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

// Sampler adds negatives to rows that have exactly one id in each slot and label 1.
type Sampler struct {
	job.NegativeSampling
	// User, Item and Genre are slots. The genre belongs to the item, and all other slots to
	// the user.
	User, Item, Genre int
}

// Extend returns the training rows and the test rows, each row followed by its negatives.
//
// Cost: each negative takes a number of draws, each with a binary search. Its mean is the
// inverse of the share of items that the user does not have.
func (s Sampler) Extend(train, test *batch.Batch) (trainAll, testAll *batch.Batch, err error) {
	seen := map[uint64][]uint64{} // items by user, ascending
	s.addItems(seen, train)
	trainAll, err = s.extendPart(train, train, seen, "train")
	if err != nil {
		return nil, nil, err
	}
	s.addItems(seen, test)
	testAll, err = s.extendPart(test, train, seen, "test")
	return trainAll, testAll, err
}

// addItems adds the items of each user to seen.
func (s Sampler) addItems(seen map[uint64][]uint64, rows *batch.Batch) {
	touched := map[uint64]bool{}
	for i, user := range rows.Slots[s.User].IDs {
		seen[user] = append(seen[user], rows.Slots[s.Item].IDs[i])
		touched[user] = true
	}
	for user := range touched {
		slices.Sort(seen[user])
		seen[user] = slices.Compact(seen[user])
	}
}

// extendPart returns positives, each followed by its negatives, whose items come from train.
func (s Sampler) extendPart(positives, train *batch.Batch, seen map[uint64][]uint64,
	part string) (*batch.Batch, error) {
	count := s.Count()
	if positives.Samples > (math.MaxInt32-1)/(1+count) {
		return nil, errors.New("negatives: more than 2147483646 rows: lower per-positive")
	}
	items := s.newCatalogue(train)
	random := rng.New(s.Seed, "negative items of "+part)
	out := oneIDEach(positives.Samples*(1+count), len(positives.Slots))
	for i := range positives.Samples {
		user := positives.Slots[s.User].IDs[i]
		if !items.hasOther(seen[user]) {
			return nil, fmt.Errorf("negatives: a user of row %d of the %s rows has every item: there is no "+
				"negative to draw",
				i+1, part)
		}
		first := i * (1 + count)
		out.Labels[first] = 1
		for slot := range out.Slots {
			id := positives.Slots[slot].IDs[i]
			for row := first; row <= first+count; row++ {
				out.Slots[slot].IDs[row] = id
			}
		}
		for row := first + 1; row <= first+count; row++ {
			item, genre := items.draw(random, seen[user])
			out.Slots[s.Item].IDs[row], out.Slots[s.Genre].IDs[row] = item, genre
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
	for slot := range out.Slots {
		out.Slots[slot] = batch.Jagged{Offsets: offsets, IDs: make([]uint64, rows)}
	}
	return out
}

// catalogue holds the items from which negatives are drawn, each with its genre: once for
// the uniform distribution, or once per training row.
type catalogue struct {
	items, genres []uint64
	distinct      []uint64 // items, ascending
}

func (s Sampler) newCatalogue(train *batch.Batch) *catalogue {
	c := &catalogue{}
	known := map[uint64]bool{}
	for i, item := range train.Slots[s.Item].IDs {
		if s.By == job.NegativesPopularity || !known[item] {
			c.items = append(c.items, item)
			c.genres = append(c.genres, train.Slots[s.Genre].IDs[i])
		}
		if !known[item] {
			known[item] = true
			c.distinct = append(c.distinct, item)
		}
	}
	slices.Sort(c.distinct)
	return c
}

// hasOther reports whether the catalogue has an item that is not in seen.
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

// draw returns an item that is not in seen. The catalogue must have one.
func (c *catalogue) draw(random *rand.Rand, seen []uint64) (item, genre uint64) {
	for {
		i := random.IntN(len(c.items))
		if _, has := slices.BinarySearch(seen, c.items[i]); !has {
			return c.items[i], c.genres[i]
		}
	}
}
