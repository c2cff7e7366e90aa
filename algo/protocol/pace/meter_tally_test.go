package pace

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/rng"
)

// plainLedger is what a ledger stands for: every put, looked at one by one.
type plainLedger struct {
	ranks   int32
	routed  []map[int32]bool // by rank: steps
	missing map[plainPut]bool
}

type plainPut struct{ ps, rank, step int32 }

// lowest returns the first step that some rank has not routed.
func (p *plainLedger) lowest() (step int32) {
	for slices.IndexFunc(p.routed, func(m map[int32]bool) bool { return !m[step] }) < 0 {
		step++
	}
	return step
}

// tally counts the ranks by the number of their missing puts of the steps before step.
func (p *plainLedger) tally(ps, step int32) []int32 {
	ranks := []int32{0}
	for rank := range p.ranks {
		n := 0
		for s := range step {
			if p.missing[plainPut{ps, rank, s}] {
				n++
			}
		}
		for len(ranks) <= n {
			ranks = append(ranks, 0)
		}
		ranks[n]++
	}
	return ranks
}

// For batches that are routed, applied and closed in any order, tallies are what counting every put says,
// also when reads are of more steps than there are tallies.
func TestTalliesCountEveryPut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const pss = 2
		ranks := rapid.Int32Range(1, 6).Draw(t, "ranks")
		random := rng.New(rapid.Uint64().Draw(t, "seed"), "tallies")
		spread := rapid.SampledFrom([]int{2, 12, 100}).Draw(t, "spread")
		applies := rapid.IntRange(1, 8).Draw(t, "applies")
		l := newLedger(ranks, pss)
		plain := &plainLedger{ranks: ranks, routed: make([]map[int32]bool, ranks),
			missing: map[plainPut]bool{}}
		for rank := range plain.routed {
			plain.routed[rank] = map[int32]bool{}
		}
		closed := [pss]int32{}
		for range 400 {
			lowest := plain.lowest()
			switch random.IntN(2 + applies) {
			case 0:
				rank, step := random.Int32N(ranks), lowest+int32(random.IntN(spread))
				routeBoth(random, &l, plain, closed[:], rank, step)
			case 1:
				ps := random.Int32N(pss)
				if random.IntN(4) > 0 || closed[ps] >= lowest {
					continue
				}
				l.close(ps, closed[ps])
				for rank := range ranks {
					delete(plain.missing, plainPut{ps, rank, closed[ps]})
				}
				closed[ps]++
			default:
				ps, rank := random.Int32N(pss), random.Int32N(ranks)
				step := random.Int32N(lowest + int32(spread))
				l.apply(ps, rank, step)
				delete(plain.missing, plainPut{ps, rank, step})
			}
			if l.front.lowest != plain.lowest() {
				t.Fatalf("all ranks are routed up to step %d, want %d", l.front.lowest, plain.lowest())
			}
			ps, step := random.Int32N(pss), random.Int32N(l.front.lowest+1)
			got, want := slices.Clone(l.tallyOf(ps, step)), plain.tally(ps, step)
			for len(got) > len(want) && got[len(got)-1] == 0 {
				got = got[:len(got)-1]
			}
			if !slices.Equal(got, want) {
				t.Fatalf("PS %d, step %d: ranks by missing puts %v, want %v", ps, step, got, want)
			}
		}
	})
}

// routeBoth routes a batch with random rows, once.
func routeBoth(random *rand.Rand, l *ledger, plain *plainLedger, closed []int32, rank, step int32) {
	rows := make([]int32, len(closed))
	for ps := range rows {
		rows[ps] = random.Int32N(3)
	}
	l.route(rank, step, rows)
	if plain.routed[rank][step] {
		return
	}
	plain.routed[rank][step] = true
	for ps, n := range rows {
		if n > 0 && step >= closed[ps] {
			plain.missing[plainPut{int32(ps), rank, step}] = true
		}
	}
}
