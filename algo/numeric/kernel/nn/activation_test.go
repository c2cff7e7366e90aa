package nn

import (
	"math"
	"testing"

	"tandem/algo/numeric/kernel/internal/kerneltest"
)

func TestReLUAndItsMask(t *testing.T) {
	x := []float32{-2, 0, 3}
	ReLU(x)
	kerneltest.WantSlice(t, "relu", x, []float32{0, 0, 3})
	grad := []float32{5, 6, 7}
	ReLUBackward(grad, x)
	kerneltest.WantSlice(t, "gradient", grad, []float32{0, 0, 7})

	x = []float32{float32(math.NaN())}
	ReLU(x)
	if x[0] == x[0] {
		t.Errorf("relu of NaN is %v, want NaN", x[0])
	}
}

func TestSigmoidAtKnownPoints(t *testing.T) {
	// σ(0) = 1/2; σ(ln 3) = 3/4; σ(−ln 3) = 1/4; saturation without NaN.
	ln3 := float32(math.Log(3))
	for _, tt := range []struct{ z, want float32 }{
		{0, 0.5}, {ln3, 0.75}, {-ln3, 0.25}, {1e30, 1}, {-1e30, 0},
	} {
		// One unit in the last place of the result covers the rounding of ln 3.
		if got := Sigmoid(tt.z); math.Abs(float64(got-tt.want)) > 1.0/(1<<24) {
			t.Errorf("sigmoid of %v is %v, want %v", tt.z, got, tt.want)
		}
	}
}

func TestCrossEntropyIsStableAndMatchesItsDefinition(t *testing.T) {
	// At z = 0 the loss is ln 2 for every label. At z = ln 3, y = 1 it is
	// −ln(3/4). At z = ±1000 on the wrong side it is 1000, not infinity.
	ln3 := float32(math.Log(3))
	for _, tt := range []struct {
		z, y     float32
		loss     float64
		gradient float32
	}{
		{0, 0, math.Ln2, 0.5},
		{0, 1, math.Ln2, -0.5},
		{ln3, 1, -math.Log(0.75), -0.25},
		{1000, 0, 1000, 1},
		{-1000, 1, 1000, -1},
		{1000, 1, 0, 0},
	} {
		grad := []float32{9}
		loss := CrossEntropy(grad, []float32{tt.z}, []float32{tt.y}, []float32{1})
		if math.Abs(loss-tt.loss) > 1e-7 || math.Abs(float64(grad[0]-tt.gradient)) > 1e-7 {
			t.Errorf("z = %v, y = %v: loss %v and gradient %v, want %v and %v",
				tt.z, tt.y, loss, grad[0], tt.loss, tt.gradient)
		}
	}
	z := []float32{0, 0}
	if got := CrossEntropy(z, z, []float32{0, 1}, []float32{1}); math.Abs(got-2*math.Ln2) > 1e-15 ||
		z[0] != 0.5 || z[1] != -0.5 {
		t.Errorf("in place: loss %v, gradient %v, want 2·ln 2 and [0.5 -0.5]", got, z)
	}
}

func TestEntropyIsAccurate(t *testing.T) {
	worst := 0.0
	for z := -690.0; z < 690; z += 0.0137 {
		e, log := entropyOf(z)
		wantE := math.Exp(-math.Abs(z))
		want := math.Log1p(wantE)
		worst = max(worst, math.Abs(e-wantE)/wantE, math.Abs(log-want)/want)
	}
	if worst > 1e-15 {
		t.Errorf("relative error %g, want at most 1e-15", worst)
	}
	for _, z := range []float64{math.Inf(1), math.Inf(-1), 1e300} {
		if e, log := entropyOf(z); !(e < 1e-300 && log < 1e-300) {
			t.Errorf("of %v: %v and %v, want nearly 0", z, e, log)
		}
	}
	if e, log := entropyOf(math.NaN()); e == e || log == log {
		t.Errorf("of NaN: %v and %v", e, log)
	}
}
