package predict

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Each column is named once, by what it alone explains, and their shares add up to what all of them do.
func TestMainEffectsNameAColumnOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const n = 400
	columns, values := map[string][]float64{}, make([]float64, n)
	var kept []int
	for i, name := range []string{"a", "b"} {
		for k := range n {
			columns[name] = append(columns[name], random.Float64())
			values[k] += []float64{4, 1}[i] * columns[name][k]
		}
	}
	for k := range n {
		if values[k] += 2 * random.Float64(); k%10 == 0 {
			values[k] = math.NaN()
			continue
		}
		kept = append(kept, k)
	}
	effects := mainEffects(columns, values, kept, 5)
	if len(effects) != 2 || effects[0].Name != "a" || effects[1].Name != "b" {
		t.Fatalf("effects %v, want a, then b", effects)
	}
	// Of uniform a, b and c, 4 a + b + 2 c has 16/21 of its variance from a and 1/21 from b. Their ranks have
	// about as much.
	for i, want := range []float64{16.0 / 21, 1.0 / 21} {
		if got := effects[i].Share; math.Abs(got-want) > 0.05 {
			t.Errorf("%s has %.3f of the variance, want about %.3f", effects[i].Name, got, want)
		}
	}
	if one := mainEffects(columns, values, kept, 1); len(one) != 1 || one[0] != effects[0] {
		t.Errorf("the main effect is %v, want %v", one, effects[0])
	}
}
