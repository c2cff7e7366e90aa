package model

import "tandem/algo/rng"

// addTensor appends a tensor to the parameter vector and returns its offset.
func (l *Layout) addTensor(name string, shape ...int) (lo int) {
	size := 1
	for _, n := range shape {
		size *= n
	}
	lo = l.Params
	l.Params += size
	l.Tensors = append(l.Tensors, Tensor{Name: name, Shape: shape, Lo: lo, Hi: l.Params})
	return lo
}

// uniform fills x with values of [−bound, bound) from the stream of the seed and
// the tensor's name, so that adding a tensor leaves the others as they were.
func uniform(x []float32, bound float32, seed uint64, tensor string) {
	key := rng.Key(seed, "model/init/"+tensor)
	for i := range x {
		x[i] = float32(2*rng.Unit(key, i)-1) * bound
	}
}

// bell fills x with values that are nearly normal, mean 0, of the given standard
// deviation: sums of twelve uniform values less 6 (Irwin and Hall), which need no
// function whose bits differ between machines.
func bell(x []float32, deviation float32, seed uint64, tensor string) {
	key := rng.Key(seed, "model/init/"+tensor)
	for i := range x {
		sum := float32(-6)
		for draw := range 12 {
			sum += rng.Unit(key, 12*i+draw)
		}
		x[i] = sum * deviation
	}
}
