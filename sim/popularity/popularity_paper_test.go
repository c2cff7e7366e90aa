package popularity

import (
	"container/list"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
)

// zipf returns the cumulative probabilities of ids whose probability falls as a power of the rank.
func zipf(ids int, exponent float64) []float64 {
	sums := make([]float64, ids)
	sum := 0.0
	for i := range sums {
		sum += math.Pow(float64(i+1), -exponent)
		sums[i] = sum
	}
	for i := range sums {
		sums[i] /= sum
	}
	return sums
}

// steps returns the cumulative probabilities of two groups of equally likely ids.
func steps(hot, ids int, share float64) []float64 {
	sums := make([]float64, ids)
	for i := range sums {
		if i < hot {
			sums[i] = share * float64(i+1) / float64(hot)
		} else {
			sums[i] = share + (1-share)*float64(i+1-hot)/float64(ids-hot)
		}
	}
	return sums
}

func popularity(sums []float64) Popularity {
	return New(float64(len(sums)), func(n float64) float64 { return sums[int(n)-1] })
}

// lru is a cache that keeps the most recently used ids.
type lru struct {
	rows  int
	order *list.List
	at    map[int]*list.Element
}

// use reports whether an id is in the cache, and makes it the most recent.
func (c *lru) use(id int) bool {
	e, ok := c.at[id]
	if ok {
		c.order.MoveToFront(e)
		return true
	}
	c.at[id] = c.order.PushFront(id)
	if c.order.Len() > c.rows {
		delete(c.at, c.order.Remove(c.order.Back()).(int))
	}
	return false
}

var sources = []struct {
	name string
	sums []float64
}{
	{"Zipf 1.05", zipf(20_000, 1.05)},
	{"Zipf 0.8", zipf(20_000, 0.8)},
	{"Zipf 1.5", zipf(20_000, 1.5)},
	{"200 hot ids of 10,000", steps(200, 10_000, 0.8)},
	{"uniform", steps(0, 10_000, 0)},
}

// within checks a value to 2 %, and to the noise of the number of events that the wanted value counts.
func within(t *testing.T, what string, got, want, events float64) {
	t.Helper()
	if math.Abs(got-want) > (0.02+2/math.Sqrt(events))*want {
		t.Errorf("%s: %.5g, want %.5g", what, got, want)
	}
}

// Che's approximation agrees with a cache that is simulated id by id, for single requests (draws = 1) and for
// batches whose ids are merged before the cache sees them. Without a cache, all distinct ids are misses.
func TestMissesAgainstASimulatedCache(t *testing.T) {
	for _, s := range sources {
		p := popularity(s.sums)
		for _, c := range []struct{ draws, rows, batches int }{
			{1, 1000, 200_000}, {1000, 4000, 300}, {300, 500, 1000},
		} {
			random := rand.New(rand.NewPCG(7, uint64(c.draws)))
			cache := &lru{rows: c.rows, order: list.New(), at: map[int]*list.Element{}}
			misses, distinct := 0, 0
			for batch := -c.batches / 2; batch < c.batches; batch++ {
				seen := map[int]bool{}
				var ids []int
				for range c.draws {
					if id := sort.SearchFloat64s(s.sums, random.Float64()); !seen[id] {
						seen[id] = true
						ids = append(ids, id)
					}
				}
				for _, id := range ids {
					hit := cache.use(id)
					if batch < 0 {
						continue
					}
					distinct++
					if !hit {
						misses++
					}
				}
			}
			draws, rows, batches := float64(c.draws), float64(c.rows), float64(c.batches)
			within(t, s.name+": distinct ids", p.LRUMisses(draws, 0), float64(distinct)/batches,
				float64(distinct))
			within(t, s.name+": LRU misses", p.LRUMisses(draws, rows), float64(misses)/batches,
				float64(misses))
		}
	}
}

// The load of the hottest shard agrees with the mean over random placements of all ids, one by one, for
// occurrences and for the distinct ids of batches.
func TestSkewAgainstPlacements(t *testing.T) {
	for _, s := range sources {
		p := popularity(s.sums)
		for _, draws := range []float64{1, 2000} {
			weights := make([]float64, len(s.sums))
			all, before := 0.0, 0.0
			for i, sum := range s.sums {
				weights[i] = 1 - math.Pow(1-(sum-before), draws)
				all += weights[i]
				before = sum
			}
			for _, shards := range []int{2, 30, 300} {
				random := rand.New(rand.NewPCG(3, uint64(shards)))
				const trials = 400
				total := 0.0
				for range trials {
					loads := make([]float64, shards)
					hottest := 0.0
					for _, w := range weights {
						i := random.IntN(shards)
						loads[i] += w
						hottest = max(hottest, loads[i])
					}
					total += hottest
				}
				within(t, s.name, p.Skew(shards, draws), total/trials*float64(shards)/all, math.Inf(1))
			}
		}
	}
}
