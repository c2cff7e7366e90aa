// Package popularity computes what skewed popularity of ids does to the parts of a cluster: how many rows of
// a batch are distinct, how many of them a cache holds, and how much more than its share the hottest shard
// gets.
package popularity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Popularity is a distribution of ids: groups of equally likely ids, the most likely first. The probabilities
// of all ids sum to 1.
type Popularity []Group

// Group is a number of ids with the probability of each. It need not be a whole number.
type Group struct{ IDs, Probability float64 }

// The resolution of New: this many of the most likely ids are groups of their own, and every later group has
// this many times as many ids as there are before it.
const (
	single = 64
	growth = 0.1
)

// New returns the popularity of a number of ids, where share(n) is the probability of the n most likely ids
// together, such as Share of model.Frequencies. It panics if ids is less than 1.
//
// Groups hold the 64 most likely ids each on its own, then 10 % more ids each. The probability within a group
// of a Zipf distribution of exponent 1 varies by ±5 %, which changes results by less than 0.1 %. Cost: 64
// calls of share and 24 for every factor of 10 in ids.
func New(ids float64, share func(n float64) float64) Popularity {
	if !(ids >= 1) {
		panic(fmt.Sprintf("popularity: %v ids, want at least 1", ids))
	}
	var p Popularity
	before, probability := 0.0, math.Inf(1)
	for n := 0.0; n < ids; {
		next := n + 1
		if n >= single {
			next = n + math.Floor(growth*n)
		}
		next = min(ids, next)
		all := share(next)
		// Rounding errors of share must not make later ids more likely.
		probability = min(probability, max(0, (all-before)/(next-n)))
		p = append(p, Group{next - n, probability})
		n, before = next, all
	}
	return p
}

// Mix returns the popularity of the ids of several columns, none of which is in two of them, where weights
// are the ids that a sample has of each column. Groups of ids whose probabilities differ by at most 5 %
// become one.
func Mix(columns []Popularity, weights []float64) Popularity {
	var mixed Popularity
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	for i, p := range columns {
		for _, g := range p {
			mixed = append(mixed, Group{g.IDs, g.Probability * weights[i] / sum})
		}
	}
	slices.SortStableFunc(mixed, func(a, b Group) int {
		switch {
		case a.Probability > b.Probability:
			return -1
		case a.Probability < b.Probability:
			return 1
		}
		return 0
	})
	return slices.Clip(merge(mixed))
}

// merge replaces neighbouring groups whose probabilities differ by at most 5 % by one with their mean.
func merge(p Popularity) Popularity {
	merged := p[:0]
	first := 0.0 // probability of the first part of the last group
	for _, g := range p {
		if n := len(merged); n > 0 && g.Probability >= first/1.05 {
			last := &merged[n-1]
			ids := last.IDs + g.IDs
			last.Probability = (last.IDs*last.Probability + g.IDs*g.Probability) / ids
			last.IDs = ids
			continue
		}
		first = g.Probability
		merged = append(merged, g)
	}
	return merged
}

// seen returns the probability that independent draws contain an id.
func (g Group) seen(draws float64) float64 {
	if g.Probability >= 1 {
		return min(draws, 1)
	}
	return -math.Expm1(draws * math.Log1p(-g.Probability))
}

// LRUMisses returns the expected number of distinct ids in a batch of draws that are not in a cache of a
// number of rows, which keeps the most recently used and has seen many batches before. The ids of a batch
// reach the cache one after the other, each once:
//
//	Σ_i q_i · mean over u of absent(T − u, q_i),  q_i = 1 − (1 − p_i)^draws
//	absent(t, q) = (1 − q)^⌊t⌋ · (1 − q · (t − ⌊t⌋))
//
// An id at the place u of its batch, from 0 to 1, is in the cache if it was used in the time T before, in
// batches. The characteristic time T fills the cache: Σ_i mean over u of 1 − (1 − q_i · u) · absent(T − u,
// q_i) = rows. With one draw a batch, the result is the miss rate of single requests. It is 0 if the cache
// holds all ids. LRUMisses panics if rows is negative. Cost: about 100 passes over the groups; 10 ms for
// New's of 10⁹ ids.
//
// Source: Che, Tung, Wang, "Hierarchical Web caching systems", IEEE JSAC 20 (2002); Fricker, Robert, Roberts,
// ITC 24 (2012), on why the approximation is accurate. Deviation: requests come in batches of distinct ids
// instead of as a Poisson process.
func (p Popularity) LRUMisses(draws, rows float64) float64 {
	if !(rows >= 0) {
		panic(fmt.Sprintf("popularity: cache of %v rows, want at least 0", rows))
	}
	all := 0.0
	for _, g := range p {
		all += g.IDs
	}
	if rows >= all {
		return 0
	}
	seen := make([]float64, len(p))
	for i, g := range p {
		seen[i] = g.seen(draws)
	}
	held := func(time float64) float64 {
		sum := 0.0
		for i, g := range p {
			before, _ := unused(time, seen[i])
			sum += float64(g.IDs * (1 - before))
		}
		return sum
	}
	lo, hi := 0.0, 1.0
	for held(hi) < rows && hi < math.MaxFloat64/4 {
		lo, hi = hi, 2*hi
	}
	for range 60 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break // neighbouring numbers
		}
		if held(mid) < rows {
			lo = mid
		} else {
			hi = mid
		}
	}
	sum := 0.0
	for i, g := range p {
		_, own := unused(hi, seen[i])
		sum += float64(g.IDs * seen[i] * own)
	}
	return sum
}

// places is the number of places of a batch over which unused takes means.
const places = 8

// unused returns the probability that an id which a batch contains with probability q was not used for a
// time, in batches, before a place of a batch: of any id, and of one that the batch has at that place.
func unused(time, q float64) (before, own float64) {
	last, power := -1.0, 0.0 // whole batches, of which neighbouring places have equally many
	for i := range places {
		u := min((float64(i)+0.5)/places, time)
		whole := math.Floor(time - u)
		if whole != last {
			last, power = whole, math.Pow(1-q, whole)
		}
		absent := power * (1 - q*(time-u-whole))
		before += (1 - q*u) * absent / places
		own += absent / places
	}
	return before, own
}

// The effort of Skew: ids placed one by one, for a shard and at most, and ids placed in all.
const (
	placedPerShard = 32
	placedMax      = 512
	placedInAll    = 1 << 16
)

// Skew returns the expected load of the hottest of a number of shards, relative to the mean load, when every
// id is on a random shard and the load of an id is the probability that a batch of draws contains it; with
// one draw, that is its part of all occurrences. It is at least 1, and at least shards times the load of the
// most likely id relative to that of all ids. Skew panics if shards is less than 1.
//
// Up to 512 of the most likely ids are placed at random, at least 128 times. The load of all others on a
// shard is nearly normal, with the variance Σ_i q_i² / shards and the third moment Σ_i q_i³ / shards. The
// error is about 1 %; equal arguments have equal results. Cost: half a millisecond.
//
// Source: Cornish, Fisher, Revue de l'Institut International de Statistique 5 (1938), for the third moment.
func (p Popularity) Skew(shards int, draws float64) float64 {
	if shards < 1 {
		panic(fmt.Sprintf("popularity: %d shards, want at least 1", shards))
	}
	if shards == 1 {
		return 1
	}
	var head []float64
	placed := min(placedMax, placedPerShard*shards)
	all, rest, squares, cubes := 0.0, 0.0, 0.0, 0.0
	for _, g := range p {
		q := g.seen(draws)
		all += float64(g.IDs * q)
		one := min(math.Floor(g.IDs), float64(placed-len(head)))
		for range int(one) {
			head = append(head, q)
		}
		rest += float64((g.IDs - one) * q)
		squares += float64((g.IDs - one) * q * q)
		cubes += float64((g.IDs - one) * q * q * q)
	}
	n := float64(shards)
	deviation, skewness := math.Sqrt(squares/n*(1-1/n)), 0.0
	if deviation > 0 {
		skewness = cubes / n * (1 - 1/n) * (1 - 2/n) / (deviation * deviation * deviation)
	}
	random := rand.New(rand.NewPCG(placedMax, placedInAll))
	loads := make([]float64, shards)
	sum, placements := 0.0, placedInAll/placed
	for range placements {
		for i := range loads {
			z := random.NormFloat64()
			loads[i] = rest/n + deviation*(z+float64(skewness/6*(z*z-1)))
		}
		for _, q := range head {
			loads[random.IntN(shards)] += q
		}
		sum += slices.Max(loads)
	}
	return max(1, sum/float64(placements)*n/all)
}
