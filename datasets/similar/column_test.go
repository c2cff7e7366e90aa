package similar

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/datasets/census"
	"tandem/datasets/synth"
)

// drawn returns the occurrences of the ids of a column in a number of draws.
func drawn(c job.SyntheticColumn, draws int, seed uint64) []int64 {
	distribution, random := synth.NewDistribution(c), rand.New(rand.NewPCG(seed, 1))
	byRank := map[int64]int64{}
	for range draws {
		byRank[distribution.Rank(random)]++
	}
	return values(byRank)
}

func values[K comparable](counts map[K]int64) (occurrences []int64) {
	for _, count := range counts {
		occurrences = append(occurrences, count)
	}
	return occurrences
}

// resembles compares the number of ids of two samples of equal size, of those that occur once, and of those
// that occur at least 5 times, up to four standard deviations of independent counts.
func resembles(t *testing.T, name string, got, want *census.Census) {
	t.Helper()
	frequent := func(c *census.Census) int64 {
		n := c.Distinct()
		for k := range int64(4) {
			n -= c.Occurring(k + 1)
		}
		return n
	}
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"ids", got.Distinct(), want.Distinct()},
		{"ids once", got.Occurring(1), want.Occurring(1)},
		{"ids five times", frequent(got), frequent(want)},
	} {
		deviation := math.Sqrt(float64(c.got + c.want + 1))
		if math.Abs(float64(c.got-c.want)) > 4*deviation {
			t.Errorf("%s: %d %s, want %d", name, c.got, c.what, c.want)
		}
	}
}

// As many draws from a fitted column show as many ids, rare ids and frequent ids as the sample that it was
// fitted to, and the most frequent ids have the shares that they have in the sample.
func TestDrawsFromTheFittedColumnResembleTheSample(t *testing.T) {
	const draws = 20_000
	for i, c := range []job.SyntheticColumn{
		{Cardinality: 2_000, Exponent: 1.1},
		{Cardinality: 50_000, Exponent: 1, Top: 0.3},
		{Cardinality: 1_000_000, Exponent: 0.95},
		{Cardinality: 5_000},
		{Cardinality: 12, Exponent: 0.5},
	} {
		occurrences := drawn(c, draws, uint64(i))
		fitted := Column(occurrences)
		resembles(t, fmt.Sprintf("%+v", c), census.New(drawn(fitted, draws, 100)), census.New(occurrences))
		most := int64(0)
		for _, count := range occurrences {
			most = max(most, count)
		}
		if got := synth.NewDistribution(fitted).Probability(1); most >= wellSeen*wellSeen &&
			math.Abs(got-float64(most)/draws) > 1e-3 {
			t.Errorf("%+v: the most frequent id has a share of %v, want %v", c, got, float64(most)/draws)
		}
	}
}

// The cardinality is the number of ids where the sample shows it: a uniform column with a third of its ids
// outside the sample, and a small one.
func TestTheCardinalityIsTheNumberOfIDsWhereItIsKnown(t *testing.T) {
	for _, ids := range []int64{10, 1_000, 10_000} {
		got := Column(drawn(job.SyntheticColumn{Cardinality: ids}, 10_000, 3))
		if math.Abs(float64(got.Cardinality-ids)) > 0.1*float64(ids) {
			t.Errorf("%d ids: cardinality %d", ids, got.Cardinality)
		}
	}
}

// Any occurrences, in any order, give a valid column with at least as many ids.
func TestColumnIsValidProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(1, 8), rapid.Int64Range(1, 10_000)), 1, 60).
			Draw(t, "counts")
		got := Column(counts)
		if err := got.Validate(); err != nil {
			t.Fatal(err)
		}
		if got.Cardinality < int64(len(counts)) {
			t.Fatalf("%d ids, fitted %+v", len(counts), got)
		}
		reversed := make([]int64, len(counts))
		for i, count := range counts {
			reversed[len(counts)-1-i] = count
		}
		if again := Column(reversed); !reflect.DeepEqual(again, got) {
			t.Fatalf("%+v, and reversed %+v", got, again)
		}
	})
}

// The columns of 10,000 rows of Criteo's challenge: the largest have ten million ids, which no sample of
// that size shows.
func TestColumnsOfRealRows(t *testing.T) {
	folder := os.Getenv("TANDEM_DATA")
	if folder == "" {
		t.Skip("TANDEM_DATA is not set")
	}
	set, err := datasets.Open(job.Data{Kind: job.KindCriteo,
		Path: "criteo-kaggle-head/train_head10k.txt.gz"}, folder)
	if err != nil {
		t.Fatal(err)
	}
	for slot, ids := range set.Train.Slots {
		byID := map[uint64]int64{}
		for _, id := range ids.IDs {
			byID[id]++
		}
		sample := census.New(values(byID))
		fitted := Column(values(byID))
		resembles(t, set.Schema.Slots[slot].Name, census.New(drawn(fitted, len(ids.IDs), 5)), sample)
		// The derivative of the expected number of ids, by other steps than the fit takes.
		d, n := synth.NewDistribution(fitted), float64(sample.Draws())
		once := (d.ExpectedDistinct(1.1*n) - d.ExpectedDistinct(0.9*n)) / 0.2
		if seen := float64(sample.Occurring(1)); math.Abs(once-seen) > 1.2*math.Sqrt(seen)+1 {
			t.Errorf("%s: %.1f ids are expected once, %v are", set.Schema.Slots[slot].Name, once, seen)
		}
		if low := sample.Estimate().Low; float64(fitted.Cardinality) < low {
			t.Errorf("%s: cardinality %d, at least %v", set.Schema.Slots[slot].Name, fitted.Cardinality, low)
		}
	}
}
