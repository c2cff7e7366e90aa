package predict_test

import (
	"math"
	"testing"

	"tandem/sim/predict"
)

// Of a quantity that follows one parameter alone, that parameter explains all and the others next to nothing;
// of a quantity that is the same everywhere, none explains anything.
func TestMainEffectsFindTheParameterBehindAQuantity(t *testing.T) {
	j := persia(t)
	const n, name = 64, "embedding-workers.core-speed"
	v := j.Parameters()
	at := -1
	for i, e := range v {
		if e.Name == name {
			at = i
		}
	}
	p := run(t, j, predict.Options{Samples: n})
	values := make([]float64, len(p.Samples))
	for k, point := range v.Sample(n, 1) {
		values[k] = math.Exp(-3 * point[at])
	}
	values[5] = math.NaN()
	effects := predict.MainEffects(j, values, 3)
	if effects[0].Name != name || effects[0].Share < 0.999 || len(effects) > 1 && effects[1].Share > 1e-3 {
		t.Errorf("the largest effects are %+v, want %s alone", effects, name)
	}
	if found := predict.MainEffects(j, p.Samples, 5); len(found) != 5 || found[0].Share < 0.1 {
		t.Errorf("the largest effects on the throughput are %+v", found)
	}
	if same := predict.MainEffects(j, make([]float64, n), 5); len(same) > 0 {
		t.Errorf("a constant has the effects %+v", same)
	}
}
