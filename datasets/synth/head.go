package synth

// head holds the shares of the most frequent ids of a Coverage, which answer for them what the formulas of
// the pieces would, to the bit, without their transcendental functions.
type head struct {
	shares []float64 // F(rank), from rank 0
	// guide[k] is the first rank whose share is above k/len(guide): where the search for a quantile begins.
	guide []int32
}

const (
	headMost   = 1 << 12 // ranks of a head
	guideCells = 1 << 12
	// headSlack is a distance in u around a share within which the formulas may round to either side. Their
	// errors are below 10⁻¹⁴.
	headSlack = 1e-12
)

// newHead returns the head of a distribution that has none yet.
func newHead(d *Coverage) head {
	h := head{shares: make([]float64, min(headMost, d.ranks)+1), guide: make([]int32, guideCells)}
	for rank := range h.shares {
		h.shares[rank] = d.share(int64(rank))
	}
	rank := 0
	for k := range h.guide {
		for rank < len(h.shares)-1 && h.shares[rank] <= float64(k)/guideCells {
			rank++
		}
		h.guide[k] = int32(rank)
	}
	return h
}

// quantile returns the first rank whose share is above u, or 0 if the formulas must say.
func (h *head) quantile(u float64) int64 {
	if !(u < h.shares[len(h.shares)-1]) {
		return 0
	}
	rank := int(h.guide[int(u*guideCells)])
	for h.shares[rank] <= u {
		rank++
	}
	if u-h.shares[rank-1] < headSlack || h.shares[rank]-u < headSlack {
		return 0
	}
	return int64(rank)
}
