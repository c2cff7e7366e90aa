package predict

import (
	"math"
	"testing"

	"tandem/sim/model"
	"tandem/sim/param"
)

// Moves to and from points that do not fit are left out: the share is that of the other moves.
func TestSharesLeaveOutWhatDoesNotFit(t *testing.T) {
	m, err := model.Load("kwai-video")
	if err != nil {
		t.Fatal(err)
	}
	v := param.Collect("model", m)
	logs := make([]float64, effectPoints*2)
	for k := range effectPoints {
		logs[k], logs[effectPoints+k] = float64(k%2), float64((k+1)%2) // each move is 1
	}
	want := 1 / (2 * 0.25)
	if got := shares(v, []int{0}, logs); got[0].Name != v[0].Name || math.Abs(got[0].Share-want) > 1e-9 {
		t.Errorf("%+v, want %v", got, want)
	}
	logs[0], logs[effectPoints+1] = math.NaN(), math.NaN()
	if got := shares(v, []int{0}, logs); math.Abs(got[0].Share-want) > 0.01 {
		t.Errorf("with points that do not fit: %+v, want about %v", got, want)
	}
}
