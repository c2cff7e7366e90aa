package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Suspects are the values of a step, among which one may not be finite.
type Suspects struct {
	Params []float32 // before the step
	Input  Input
	Loss   float64
	// Gradients are those of the parameters, nil if all are finite; PooledGradients are those of the pooled
	// embeddings.
	Gradients, PooledGradients []float32
}

// NotFinite names what is NaN or infinite, in the order in which one such value makes others: parameters,
// then inputs, the loss, and gradients from the last tensor to the first. It returns "" if there is nothing.
// It reads all values.
func (s *Suspects) NotFinite(l *Layout) string {
	for _, t := range l.Tensors {
		if found := notFinite("the parameters "+t.Name, s.Params[t.Lo:t.Hi]); found != "" {
			return found
		}
	}
	if found := cmp.Or(notFinite("the numeric features", s.Input.Dense),
		notFinite("the pooled embeddings", s.Input.Embeddings)); found != "" {
		return found
	}
	if math.IsNaN(s.Loss) || math.IsInf(s.Loss, 0) {
		return fmt.Sprintf("the loss, which is %v from finite parameters and inputs", s.Loss)
	}
	if s.Gradients != nil {
		for _, t := range slices.Backward(l.Tensors) {
			if found := notFinite("the gradient of "+t.Name, s.Gradients[t.Lo:t.Hi]); found != "" {
				return found
			}
		}
	}
	return notFinite("the gradient of the pooled embeddings", s.PooledGradients)
}

// notFinite returns a name with the number of values that are not finite, or "" if there are none.
func notFinite(name string, values []float32) string {
	n := 0
	for _, v := range values {
		if v-v != 0 {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %d of %d values", name, n, len(values))
}
