package census

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sort"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
)

// A law is a known distribution of ids. The cumulative sums draw from it.
type law struct {
	name       string
	p          []float64
	cumulative []float64
}

func newLaw(name string, weights []float64) law {
	l := law{name: fmt.Sprintf("%s of %d", name, len(weights))}
	total := 0.0
	for _, w := range weights {
		total += w
	}
	sum := 0.0
	for _, w := range weights {
		l.p = append(l.p, w/total)
		sum += w / total
		l.cumulative = append(l.cumulative, sum)
	}
	return l
}

// laws have flat, moderate and heavy tails.
func laws() []law {
	var all []law
	random := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{10, 100, 1_000, 10_000} {
		weights := func(weight func(rank int) float64) []float64 {
			w := make([]float64, n)
			for i := range w {
				w[i] = weight(i + 1)
			}
			return w
		}
		all = append(all, newLaw("uniform", weights(func(int) float64 { return 1 })))
		for _, s := range []float64{0.5, 1, 1.5, 2} {
			all = append(all, newLaw(fmt.Sprintf("zipf %v", s),
				weights(func(rank int) float64 { return math.Pow(float64(rank), -s) })))
		}
		all = append(all,
			newLaw("log-normal", weights(func(int) float64 { return math.Exp(random.NormFloat64()) })),
			newLaw("broken stick", weights(func(int) float64 { return random.ExpFloat64() })),
			newLaw("one of 0.8", weights(func(rank int) float64 {
				if rank == 1 {
					return 4 * float64(n-1)
				}
				return 1
			})))
	}
	return all
}

// draw returns the occurrences of the ids in a number of draws, and the probability of the ids drawn.
func (l law) draw(random *rand.Rand, draws int) (occurrences []int64, seen float64) {
	counts := make([]int64, len(l.p))
	for range draws {
		at := sort.SearchFloat64s(l.cumulative, random.Float64())
		counts[min(at, len(counts)-1)]++
	}
	for i, count := range counts {
		if count > 0 {
			occurrences = append(occurrences, count)
			seen += l.p[i]
		}
	}
	return occurrences, seen
}

// score counts how often estimates hold.
type score struct {
	intervals, covered, twofold int // of estimates with an interval
	bounds, hold                int // of lower bounds alone
}

func (s *score) add(e Estimate, ids int) {
	n := float64(ids)
	if e.AtLeast {
		s.bounds++
		if e.Low <= n {
			s.hold++
		}
		return
	}
	s.intervals++
	if e.Low <= n && n <= e.High {
		s.covered++
	}
	if e.IDs <= 2*n && n <= 2*e.IDs {
		s.twofold++
	}
}

// check demands that intervals and lower bounds hold as often as they claim to, with a margin for laws
// that the theory of the intervals does not cover.
func (s *score) check(t *testing.T) {
	t.Helper()
	if covered := float64(s.covered) / float64(s.intervals); covered < 0.9 {
		t.Errorf("%d intervals, of which %.3f hold the number of ids, want 0.9", s.intervals, covered)
	}
	if hold := float64(s.hold) / float64(s.bounds); hold < 0.95 {
		t.Errorf("%d lower bounds, of which %.3f hold, want 0.95", s.bounds, hold)
	}
	if s.twofold < s.intervals {
		t.Errorf("%d of %d estimates are wrong by a factor of more than 2", s.intervals-s.twofold,
			s.intervals)
	}
}

// Draws from known laws. The sampler shares nothing with the estimator.
func TestIntervalsHoldTheNumberOfIDsOfKnownLaws(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	var all score
	const repeats = 10
	for _, l := range laws() {
		for _, draws := range []int{1_000, 10_000} {
			var here score
			for range repeats {
				occurrences, _ := l.draw(random, draws)
				here.add(New(occurrences).Estimate(), len(l.p))
			}
			all.intervals, all.covered = all.intervals+here.intervals, all.covered+here.covered
			all.twofold += here.twofold
			all.bounds, all.hold = all.bounds+here.bounds, all.hold+here.hold
			// 6 of 10 would be seen with a probability of 10⁻³ if 0.9 held.
			if here.intervals == repeats && here.covered < 6 || here.bounds == repeats && here.hold < 7 {
				t.Errorf("%s, %d draws: %+v", l.name, draws, here)
			}
		}
	}
	all.check(t)
	t.Logf("%+v", all)
}

// A rule that always said "at least" would hold too. Uniform columns get an interval, also where a third
// of the ids is outside the sample, and a narrow one.
func TestUniformColumnsGetAnInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct{ ids, draws int }{{10, 1_000}, {1_000, 10_000}, {10_000, 10_000}} {
		weights := make([]float64, c.ids)
		for i := range weights {
			weights[i] = 1
		}
		l, given := newLaw("uniform", weights), 0
		for range 20 {
			occurrences, _ := l.draw(random, c.draws)
			if e := New(occurrences).Estimate(); !e.AtLeast {
				given++
				if e.High > 1.2*e.Low {
					t.Errorf("%d ids: interval from %v to %v", c.ids, e.Low, e.High)
				}
			}
		}
		if given < 18 {
			t.Errorf("%d ids, %d draws: an interval in %d of 20 samples", c.ids, c.draws, given)
		}
	}
}

// Good–Turing coverage is the probability of the ids in the sample. Its standard deviation is below
// √((f₁ + 2 f₂)/n²) (Good 1953, equation 65): four of these are allowed.
func TestCoverageIsTheProbabilityOfTheIDsInTheSample(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for _, l := range laws() {
		occurrences, seen := l.draw(random, 5_000)
		c := New(occurrences)
		deviation := math.Sqrt(float64(c.Occurring(1)+2*c.Occurring(2))) / 5_000
		if got := c.Coverage(); math.Abs(got-seen) > 4*deviation+1e-3 {
			t.Errorf("%s: coverage %.4f, want %.4f ± %.4f", l.name, got, seen, deviation)
		}
	}
}

// The expected spectrum of some of the draws is the mean over all ways to choose them.
func TestExpectedIsTheMeanOverAllSubsets(t *testing.T) {
	occurrences := []int64{4, 2, 2, 1, 1, 1}
	var draws []int
	for id, count := range occurrences {
		for range count {
			draws = append(draws, id)
		}
	}
	c := New(occurrences)
	sums, ways := make([]spectrum, len(draws)+1), make([]float64, len(draws)+1)
	for subset := range 1 << len(draws) {
		counts, size := make([]int, len(occurrences)), 0
		for i, id := range draws {
			if subset>>i&1 == 1 {
				counts[id]++
				size++
			}
		}
		ways[size]++
		for _, count := range counts {
			switch {
			case count == 1:
				sums[size].once++
			case count == 2:
				sums[size].twice++
			}
			if count > 0 {
				sums[size].distinct++
			}
		}
	}
	for size := range sums {
		got, sum, n := c.expected(int64(size)), sums[size], ways[size]
		if math.Abs(got.distinct-sum.distinct/n) > 1e-9 || math.Abs(got.once-sum.once/n) > 1e-9 ||
			math.Abs(got.twice-sum.twice/n) > 1e-9 {
			t.Errorf("%d draws: %+v, want %+v / %v", size, got, sum, n)
		}
	}
}

// real opens a data set under TANDEM_DATA and returns the ids of its columns, train and test.
func real(t *testing.T, data job.Data) (names []string, columns [][]uint64) {
	t.Helper()
	folder := os.Getenv("TANDEM_DATA")
	if folder == "" {
		t.Skip("TANDEM_DATA is not set")
	}
	set, err := datasets.Open(data, folder)
	if err != nil {
		t.Fatal(err)
	}
	for slot, s := range set.Schema.Slots {
		names = append(names, s.Name)
		columns = append(columns, nil)
		for _, part := range []*batch.Batch{set.Train, set.Test} {
			columns[slot] = append(columns[slot], part.Slots[slot].IDs...)
		}
	}
	return names, columns
}

// occurrences counts ids.
func occurrences(ids []uint64) []int64 {
	byID := map[uint64]int64{}
	for _, id := range ids {
		byID[id]++
	}
	var counts []int64
	for _, count := range byID {
		counts = append(counts, count)
	}
	return counts
}

// Samples of complete columns, whose ids can be counted: all people of the census sample, all ratings of
// MovieLens, all uses of Frappe.
func TestIntervalsHoldTheNumberOfIDsOfRealColumns(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	var all score
	for _, data := range []job.Data{
		{Kind: job.KindAdultIncome},
		{Kind: job.KindMovieLens, Path: "movielens-100k/u.data"},
		{Kind: job.KindLibFM, Train: "frappe/nfm_validation.libfm.gz", Test: "frappe/nfm_test.libfm.gz"},
	} {
		_, columns := real(t, data)
		for _, ids := range columns {
			want := len(occurrences(ids))
			for _, share := range []float64{0.01, 0.03, 0.1} {
				for range 5 {
					sample := make([]uint64, int(share*float64(len(ids))))
					for i, at := range random.Perm(len(ids))[:len(sample)] {
						sample[i] = ids[at]
					}
					all.add(New(occurrences(sample)).Estimate(), want)
				}
			}
		}
	}
	all.check(t)
	t.Logf("%+v", all)
}

// A sample of 10,000 or 20,000 of Criteo's 45.8 million rows bounds the ids of the small columns; the
// numbers of ids of the whole set are those of Facebook's DLRM (tools/visualize.py).
func TestCriteoIsWithinAFactorOfTwoOrAtLeast(t *testing.T) {
	whole := []float64{1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27,
		14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572}
	indexed := job.Table{Numeric: nil, Label: "Label"}
	for i := range whole {
		indexed.Slots = append(indexed.Slots, job.IDColumn{Column: fmt.Sprint("C", i+1)})
	}
	for _, data := range []job.Data{
		{Kind: job.KindCriteo, Path: "criteo-kaggle-head/train_head10k.txt.gz"},
		{Kind: job.KindCSV, Path: "criteo-kaggle-indexed/rows_90k_110k.csv.gz", CSV: &indexed},
	} {
		names, columns := real(t, data)
		intervals := 0
		for i, ids := range columns {
			e := New(occurrences(ids)).Estimate()
			if !e.AtLeast {
				intervals++
			}
			if e.Low > whole[i] || !e.AtLeast && (e.IDs < whole[i]/2 || e.IDs > 2*whole[i]) {
				t.Errorf("%s: %+v, want %v", names[i], e, whole[i])
			}
		}
		if intervals < 1 {
			t.Errorf("%s: no column gets an interval", data.Path)
		}
		t.Logf("%s: %d intervals", data.Path, intervals)
	}
}
