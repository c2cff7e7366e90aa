package fabric

import "math"

// reference solves a max-min problem in the slow, plain way: while a rate is open, it computes for every link
// and every limit the level that stops the rise, takes the lowest, and fixes the rates that stop there.
func reference(capacity []float64, flows []Flow) []float64 {
	rate := make([]float64, len(flows))
	fixed := make([]bool, len(flows))
	for range flows {
		remaining, usage := append([]float64(nil), capacity...), make([]float64, len(capacity))
		for i, w := range flows {
			for _, h := range w.Path {
				if fixed[i] {
					remaining[h.Link] -= h.Multiplicity * rate[i]
				} else {
					usage[h.Link] += h.Multiplicity
				}
			}
		}
		level := math.Inf(1)
		for l := range capacity {
			if usage[l] > 0 {
				level = min(level, remaining[l]/usage[l])
			}
		}
		for i, w := range flows {
			if !fixed[i] && w.Limit > 0 {
				level = min(level, float64(w.Limit))
			}
		}
		for i, w := range flows {
			stops := w.Limit > 0 && float64(w.Limit) <= level*(1+1e-13)
			for _, h := range w.Path {
				stops = stops || remaining[h.Link]/usage[h.Link] <= level*(1+1e-13)
			}
			if !fixed[i] && stops {
				fixed[i], rate[i] = true, level
			}
		}
	}
	return rate
}
