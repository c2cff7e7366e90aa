package model

import (
	"math"
	"testing"
)

// probabilities lists p(rank) of Zipf's distribution, with all ranks up to m at the share top.
func probabilities(n int, s, top float64) []float64 {
	p := make([]float64, n)
	for m := 0; ; m++ {
		sum := 0.0
		for i := m; i < n; i++ {
			p[i] = math.Pow(float64(i+1), -s)
			sum += p[i]
		}
		for i := range p {
			if i < m {
				p[i] = top
			} else {
				p[i] *= (1 - float64(m)*top) / sum
			}
		}
		if top == 0 || m > 0 && (m == n || p[m] <= top) {
			return p
		}
	}
}

func TestFrequenciesAgreeWithTheSumOverAllRanks(t *testing.T) {
	for _, n := range []int{1, 2, 7, 33, 500, 20_000} {
		for _, s := range []float64{0, 0.5, 1, 1.3, 2.5} {
			for _, top := range []float64{0, 0.01, 0.3} {
				if top > 0 && float64(n)*top < 1 {
					continue // every rank would be flat
				}
				f := (&Popularity{Exponent: &s, Top: top}).frequencies(float64(n), 9)
				p := probabilities(n, s, top)
				for _, draws := range []float64{1, 10, 3000} {
					want := 0.0
					for _, x := range p {
						want += 1 - math.Pow(1-x, draws)
					}
					if got := f.Distinct(draws); math.Abs(got-want) > 1e-3*want {
						t.Errorf("n %d, s %v, top %v, %v draws: %v distinct, want %v", n, s, top, draws, got,
							want)
					}
				}
				want := 0.0
				for _, x := range p[:(n+1)/2] {
					want += x
				}
				if got := f.Share(float64((n + 1) / 2)); math.Abs(got-want) > 1e-3*want {
					t.Errorf("n %d, s %v, top %v: half of the rows have share %v, want %v", n, s, top, got,
						want)
				}
				if math.Abs(f.Top()-p[0]) > 1e-3*p[0] {
					t.Errorf("n %d, s %v, top %v: the first has %v, want %v", n, s, top, f.Top(), p[0])
				}
			}
		}
	}
}

func TestPiecesAreUniform(t *testing.T) {
	p := Popularity{Pieces: []Piece{{Rows: 0.01, IDs: 0.92}, {Rows: 0.99, IDs: 0.08}}}
	f := p.frequencies(1000, 1)
	if math.Abs(f.Share(10)-0.92) > 1e-9 || math.Abs(f.Share(5)-0.46) > 1e-9 ||
		math.Abs(f.Top()-0.092) > 1e-9 {
		t.Errorf("shares %v, %v; top %v", f.Share(10), f.Share(5), f.Top())
	}
	want := 10*(1-math.Pow(1-0.092, 50)) + 990*(1-math.Pow(1-0.08/990, 50))
	if got := f.Distinct(50); math.Abs(got-want) > 1e-9 {
		t.Errorf("%v distinct of 50, want %v", got, want)
	}
}

// Ten first ids of a uniform table of 1,000 rows name 10 others each: 110 rows less the collisions.
func TestDerivedIDsAddTheirRowsOncePerFirstID(t *testing.T) {
	none := 0.0
	popularity := Popularity{Exponent: &none}
	derived := Table{Rows: 1000, IDs: 11, Derived: true, Frequencies: popularity.frequencies(1000, 0)}
	first := 1000 * (1 - math.Pow(0.999, 10))
	want := first + (1000-first)*(1-math.Exp(-10*first/1000))
	if got := derived.Distinct(10); math.Abs(got-want) > 1e-6 || got > 110 || got < 100 {
		t.Errorf("%v rows, want %v", got, want)
	}
	if got := derived.Distinct(1e9); math.Abs(got-1000) > 1e-6 {
		t.Errorf("%v rows of many samples, want all 1000", got)
	}
}

// A popularity of shares has as many distinct rows as the distribution that they are of, for few and many
// draws, and the probability of its most frequent row.
func TestPopularityOfSharesIsTheirDistribution(t *testing.T) {
	for _, n := range []float64{1, 2, 33, 20_000, 5e7} {
		for _, s := range []float64{0, 0.8, 1.05, 1.5} {
			whole := (&Popularity{Exponent: &s}).frequencies(n, 9)
			p := PopularityOf(n, whole.Share)
			if err := p.Validate(); err != nil {
				t.Fatalf("%v rows, exponent %v: %v", n, s, err)
			}
			f := p.frequencies(n, 9)
			if math.Abs(f.Top()/whole.Top()-1) > 1e-9 {
				t.Errorf("%v rows, exponent %v: top %v, want %v", n, s, f.Top(), whole.Top())
			}
			for _, draws := range []float64{1, 512, 65536, 1e7} {
				if ratio := f.Distinct(draws) / whole.Distinct(draws); math.Abs(ratio-1) > 0.002 {
					t.Errorf("%v rows, exponent %v, %v draws: %.4f of the distinct rows", n, s, draws, ratio)
				}
			}
		}
	}
}

// Shares that grow less evenly than they should, as of few samples, still make a valid popularity.
func TestPopularityOfUnevenShares(t *testing.T) {
	for _, share := range []func(rows float64) float64{
		func(rows float64) float64 { return min(1, rows/100) },  // of the first 100 rows alone
		func(rows float64) float64 { return 0 },                 // no row has been seen
		func(rows float64) float64 { return rows * rows / 1e6 }, // the last are the most frequent
	} {
		p := PopularityOf(1000, share)
		if err := p.Validate(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
}
