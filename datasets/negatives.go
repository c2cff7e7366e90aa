package datasets

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
)

// The laws that negative items are drawn by.
const (
	NegativesUniform    = "uniform"    // every item of the training rows alike
	NegativesPopularity = "popularity" // in proportion to an item's training rows
)

// defaultNegatives is the number of negatives per positive of He et al., Neural
// Collaborative Filtering, WWW 2017.
const defaultNegatives = 4

// NegativeSampling says how to make rows of label 0 for data that hold only
// what users did. Every positive row is followed by its negatives: the same
// user with items of the training rows that the user has in no training row,
// and for test rows in no test row either. They are drawn independently, so one
// may come twice.
type NegativeSampling struct {
	// PerPositive is the number of negatives per positive; 0 means 4.
	PerPositive int `yaml:"per-positive,omitempty"`
	// By is NegativesUniform, the default, or NegativesPopularity.
	By string `yaml:"by,omitempty"`
	// Seed draws the items.
	Seed uint64 `yaml:"seed,omitempty"`
}

// Validate names the field at fault.
func (n NegativeSampling) Validate() error {
	const perPositiveMax = 1000
	switch {
	case n.PerPositive < 0 || n.PerPositive > perPositiveMax:
		return fmt.Errorf("per-positive: %d: must be 1 to %d, or left out for %d", n.PerPositive, perPositiveMax, defaultNegatives)
	case n.By != "" && n.By != NegativesUniform && n.By != NegativesPopularity:
		return fmt.Errorf("by: %q: must be %q or %q", n.By, NegativesUniform, NegativesPopularity)
	}
	return nil
}

// apply returns the rows of both parts with their negatives. The parts hold
// positives only, in the slots of implicitSchema.
//
// Cost: for each negative as many draws, on average, as one over the share of
// items that the user does not have, and a binary search for each.
func (n NegativeSampling) apply(train, test *batch.Batch) (trainAll, testAll *batch.Batch, err error) {
	if n.PerPositive == 0 {
		n.PerPositive = defaultNegatives
	}
	seen := map[uint64][]uint64{} // items by user, ascending
	addItems(seen, train)
	trainAll, err = n.extend(train, train, seen, "train")
	if err != nil {
		return nil, nil, err
	}
	addItems(seen, test)
	testAll, err = n.extend(test, train, seen, "test")
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

// extend returns positives, each followed by its negatives, with items of train.
func (n NegativeSampling) extend(positives, train *batch.Batch, seen map[uint64][]uint64, part string) (*batch.Batch, error) {
	if positives.Samples > (math.MaxInt32-1)/(1+n.PerPositive) {
		return nil, errors.New("negatives: more than 2147483646 rows: lower per-positive")
	}
	catalogue := newCatalogue(train, n.By == NegativesPopularity)
	random := rng.New(n.Seed, "negative items of "+part)
	out := oneIDEach(positives.Samples*(1+n.PerPositive), len(positives.Slots))
	for i := range positives.Samples {
		user := positives.Slots[implicitUser].IDs[i]
		if !catalogue.hasOther(seen[user]) {
			return nil, fmt.Errorf("negatives: a user of row %d of the %s rows has every item: there is no negative to draw", i+1, part)
		}
		first := i * (1 + n.PerPositive)
		out.Labels[first] = 1
		for s := range out.Slots {
			id := positives.Slots[s].IDs[i]
			for row := first; row <= first+n.PerPositive; row++ {
				out.Slots[s].IDs[row] = id
			}
		}
		for row := first + 1; row <= first+n.PerPositive; row++ {
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
