package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"tandem/sim/param"
)

// Moves of the points.
const (
	sweepsBetween = 4    // moves of every point after each resampling
	sweepsLast    = 8    // … and at the end
	powersMost    = 64   // resamplings
	redrawn       = 0.25 // share of moves that draw from the prior, and of the positions of such a move
	wholeJump     = 0.1  // share of the others that take a difference as it is, to reach another mode
	jitterSize    = 0.01 // standard deviation of what is added to each position that moves
)

// temper returns points of the posterior, from those of the prior.
func (s *sampler) temper(prior []state) ([]state, error) {
	states := prior
	sweep := uint64(0)
	power := 0.0
	for round := uint64(0); power < 1; round++ {
		if round == powersMost {
			return nil, fmt.Errorf("fit: no posterior after %d resamplings; raise sigma, now %v", powersMost,
				s.options.Sigma)
		}
		next := s.nextPower(states, power)
		states = s.resample(states, next-power, round)
		power = next
		sweeps := sweepsBetween
		if power == 1 {
			sweeps = sweepsLast
		}
		for range sweeps {
			for half := range 2 {
				if err := s.move(states, half, power, sweep); err != nil {
					return nil, err
				}
			}
			sweep++
		}
	}
	return states, nil
}

// weights returns the likelihoods of states to a power, relative to the largest.
func (s *sampler) weights(states []state, power float64) []float64 {
	w := make([]float64, len(states))
	least := math.Inf(1)
	for i := range states {
		w[i] = s.loss(&states[i])
		least = min(least, w[i])
	}
	for i := range w {
		w[i] = math.Exp(-power * (w[i] - least))
	}
	return w
}

// nextPower returns the power at which the weights of states that have a power already are worth half of the
// states, or 1 if they are worth more there.
func (s *sampler) nextPower(states []state, power float64) float64 {
	worth := func(to float64) float64 {
		sum, squares := 0.0, 0.0
		for _, w := range s.weights(states, to-power) {
			sum += w
			squares += float64(w * w)
		}
		return float64(sum * sum / squares)
	}
	enough := float64(len(states)) / 2
	if worth(1) >= enough {
		return 1
	}
	low, high := power, 1.0
	for range 40 {
		middle := (low + high) / 2
		if worth(middle) >= enough {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// resample returns the points of the result, drawn from states in proportion to their weights, by systematic
// resampling.
func (s *sampler) resample(states []state, power float64, round uint64) []state {
	w := s.weights(states, power)
	all := 0.0
	for _, x := range w {
		all += x
	}
	n := s.options.Points
	drawn := make([]state, 0, n)
	u, sum, i := s.random("resample", round).Float64(), w[0], 0
	for k := range n {
		for target := (float64(k) + u) / float64(n) * all; sum < target && i < len(w)-1; {
			i++
			sum += w[i]
		}
		drawn = append(drawn, states[i])
	}
	// Neighbours would be copies, and a half consists of every other one.
	s.random("order", round).Shuffle(n, func(a, b int) { drawn[a], drawn[b] = drawn[b], drawn[a] })
	return drawn
}

// move proposes a move to every second state, from the positions of the others, and accepts it by the rule of
// Metropolis.
func (s *sampler) move(states []state, half int, power float64, sweep uint64) error {
	if len(s.active) == 0 {
		return nil
	}
	var others []int
	for i := range states {
		if i%2 != half {
			others = append(others, i)
		}
	}
	var points []param.Point
	var chance []float64
	for i := half; i < len(states); i += 2 {
		r := s.random("move", sweep, uint64(i))
		points = append(points, s.propose(states, i, others, r))
		chance = append(chance, r.Float64())
	}
	proposed, err := s.evaluate(points)
	if err != nil {
		return err
	}
	for k := range proposed {
		i := half + 2*k
		if change := s.loss(&proposed[k]) - s.loss(&states[i]); chance[k] < math.Exp(-power*change) {
			states[i] = proposed[k]
		}
	}
	return nil
}

// propose returns the point to which state i is to move.
func (s *sampler) propose(states []state, i int, others []int, r *rand.Rand) param.Point {
	p := slices.Clone(states[i].point)
	if r.Float64() < redrawn {
		sure := s.active[r.IntN(len(s.active))]
		for _, at := range s.active {
			if at == sure || r.Float64() < redrawn {
				p[at] = 2*r.Float64() - 1
			}
		}
		return p
	}
	a, b := r.IntN(len(others)), r.IntN(len(others)-1)
	if b >= a {
		b++
	}
	from, to := states[others[b]].point, states[others[a]].point
	share := float64(1+r.IntN(3)) / 3 // of the positions that move
	sure := s.active[r.IntN(len(s.active))]
	var moving []int
	for _, at := range s.active {
		if at == sure || r.Float64() < share {
			moving = append(moving, at)
		}
	}
	// The best scale for a normal distribution of as many dimensions.
	scale := 2.38 / math.Sqrt(2*float64(len(moving)))
	if r.Float64() < wholeJump {
		scale = 1
	}
	for _, at := range moving {
		p[at] = reflected(p[at] + float64(scale*(to[at]-from[at])) + float64(jitterSize*r.NormFloat64()))
	}
	return p
}

// reflected returns a position as it is after reflections at −1 and 1.
func reflected(x float64) float64 {
	x = math.Mod(x+1, 4)
	if x < 0 {
		x += 4
	}
	if x > 2 {
		x = 4 - x
	}
	return x - 1
}
