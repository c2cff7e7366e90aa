package plan

import "math"

// frontMost is the number of clusters of a front.
const frontMost = 4

// Front returns the cheapest cluster with a needed throughput, and then the cheapest ones that are faster by
// a tenth or more each, up to the fastest. It is empty if no cluster has the needed throughput; fastest is
// the one with the highest, or nil if the job fits none.
func (s *Search) Front(need float64, cost Cost) (front []*Found, fastest *Found, err error) {
	if fastest, err = s.Fastest(); err != nil || fastest == nil {
		return nil, fastest, err
	}
	// The most hosts may be a little slower than fewer.
	step := 0.0
	for len(front) < frontMost {
		next, err := s.Cheapest(need, cost)
		if err != nil || next == nil {
			return front, fastest, err
		}
		front = append(front, next)
		if step == 0 {
			step = max(1.1, math.Pow(fastest.Throughput/next.Throughput, 1.0/(frontMost-1)))
		}
		need = next.Throughput * step
		if last := AsFast * fastest.Throughput; need > last {
			if next.Throughput >= last {
				break
			}
			need = last
		}
	}
	return front, fastest, nil
}

// AsFast is the part of the highest throughput that counts as the fastest, so that the fastest cluster has no
// hosts that change next to nothing.
const AsFast = 0.99
